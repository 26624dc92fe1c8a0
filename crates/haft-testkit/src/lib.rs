//! For tests: a workspace written as text, scripted tools, a model in a list
