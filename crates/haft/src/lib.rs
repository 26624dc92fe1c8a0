//! The tool runtime for AI agents: one engine, one contract
