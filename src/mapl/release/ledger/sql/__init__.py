"""What ledgers in databases share: the chain in tables, its checks, and the tables of each database."""
