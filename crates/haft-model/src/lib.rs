//! Model dialects: what each API calls a tool, a call and a result
