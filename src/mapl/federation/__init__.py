"""Sites that may not pool: each adds its own noise before anything leaves it, and a coordinator adds up."""
