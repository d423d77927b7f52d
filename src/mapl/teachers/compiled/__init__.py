"""Teachers by compiled code, where numba is there (`mapl[fast]`): shard after shard, with the same votes."""
