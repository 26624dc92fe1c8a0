//! MCP: the shapes of tools and results on that wire
