"""`mapl plan`: a question about budgets in, ranked plans out."""
