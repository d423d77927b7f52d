"""The papers' claims, carried out: what each says, what was measured, and a verdict that follows from it."""
