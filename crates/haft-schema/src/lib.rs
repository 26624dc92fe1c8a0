//! Checks a model's JSON against JSON Schema, and says what is wrong with it
