"""Liu, Zhu, Chaudhuri and Wang (2021): Revisiting Model-Agnostic Private Learning."""
