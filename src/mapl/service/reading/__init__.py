"""What may be read of a run that answers: plan, budget, chain and report, each of one moment."""
