//! Runs a model's calls: pool, policy, turn, result
