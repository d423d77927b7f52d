"""Liu, Zhu, Chaudhuri and Wang (2021), theorem by theorem."""
