"""Any learner, fitted on each shard by itself; votes come back as counts."""
