//! The object-safe twin of [`Tool`], which engines work on.
//!
//! One blanket impl makes a twin from every typed tool; closures and raw schemas have their own. Authors need none of
//! this.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
};

use serde::Deserialize;
use serde_json::Value;

use crate::{Availability, Cx, Effects, Fault, FaultKind, Moment, PathBase, Reply, Schema, Spec, Tool, View};

/// A future that can be stored.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that can be stored beside others.
pub type SharedTool = Arc<dyn AnyTool>;

/// A tool without its types.
pub trait AnyTool: Send + Sync {
    /// Name and hints.
    fn spec(&self) -> &Spec;
    /// What the model is told.
    fn prompt(&self) -> &str;
    /// The shape of the input.
    fn schema(&self) -> &Schema;
    /// The shape of [`Reply::data`], if one is promised.
    fn output(&self) -> Option<&Schema>;
    /// Whether it can work here.
    fn availability(&self) -> Availability;
    /// Takes an input that fits the schema, with absolute paths, and makes a call of it.
    fn bind(self: Arc<Self>, input: &Value) -> Result<Box<dyn Bound>, Fault>;
    /// How a person sees a call with this input.
    fn view(&self, input: &Value, moment: Moment<'_>) -> View;
}

/// A tool with its input: a call that has not run yet.
pub trait Bound: Send + Sync {
    /// See [`Tool::validate`].
    fn validate(&self) -> Result<(), Fault>;
    /// See [`Tool::effects_here`].
    fn effects(&self, base: &PathBase) -> Effects;
    /// See [`Tool::describe`].
    fn describe(&self) -> String;
    /// See [`Tool::classifier_input`].
    fn classifier_input(&self) -> Option<String>;
    /// See [`Tool::preview`].
    fn preview(&self, _cx: Cx) -> BoxFuture<'_, Option<View>> {
        Box::pin(async { None })
    }
    /// Runs it.
    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Reply, Fault>>;
}

/// What can be registered: typed tools, and twins that were made already.
pub trait IntoTool {
    /// The twin.
    fn into_tool(self) -> SharedTool;
}

impl IntoTool for SharedTool {
    fn into_tool(self) -> SharedTool {
        self
    }
}

impl<T: Tool> IntoTool for T {
    fn into_tool(self) -> SharedTool {
        Arc::new(Typed {
            tool: self,
            spec: T::SPEC,
            prompt: OnceLock::new(),
            schema: OnceLock::new(),
            output: OnceLock::new(),
        })
    }
}

struct Typed<T: Tool> {
    tool: T,
    spec: Spec,
    /// Its own words, where the doc comment is not all of them.
    prompt: OnceLock<Option<String>>,
    schema: OnceLock<Schema>,
    output: OnceLock<Option<Schema>>,
}

impl<T: Tool> AnyTool for Typed<T> {
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn prompt(&self) -> &str {
        let written = self.schema().description().unwrap_or_default();
        self.prompt.get_or_init(|| self.tool.prompt(written)).as_deref().unwrap_or(written)
    }
    fn schema(&self) -> &Schema {
        self.schema.get_or_init(Schema::of::<T::Input>)
    }
    fn output(&self) -> Option<&Schema> {
        self.output.get_or_init(T::output).as_ref()
    }
    fn availability(&self) -> Availability {
        self.tool.availability()
    }
    fn bind(self: Arc<Self>, input: &Value) -> Result<Box<dyn Bound>, Fault> {
        let input = typed::<T::Input>(self.spec.name(), input)?;
        Ok(Box::new(TypedCall { tool: self, input }))
    }
    fn view(&self, input: &Value, moment: Moment<'_>) -> View {
        let Ok(input) = typed::<T::Input>(self.spec.name(), input) else {
            return View::general(self.spec.title(), moment);
        };
        let own = self.tool.view(&input, moment);
        own.unwrap_or_else(|| View::general(&self.tool.describe(&input), moment))
    }
}

/// Input that passed the schema and still is not the type: the type knows more than its schema says.
pub(crate) fn typed<T: for<'de> Deserialize<'de>>(tool: &str, input: &Value) -> Result<T, Fault> {
    T::deserialize(input).or_else(|err| {
        // To JSON Schema `5.0` is an integer; to a Rust integer it is not.
        let mut whole = input.clone();
        if make_whole(&mut whole)
            && let Ok(typed) = T::deserialize(&whole)
        {
            return Ok(typed);
        }
        Err(Fault::new(FaultKind::InvalidInput, format!("{tool}: the input is not usable: {err}")))
    })
}

/// Writes numbers like `5.0` as integers; says whether there were any.
fn make_whole(value: &mut Value) -> bool {
    /// Beyond this not every integer has a floating-point number of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                *number = (float as i64).into();
                true
            }
            _ => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |any, item| make_whole(item) | any),
        Value::Object(map) => map.values_mut().fold(false, |any, item| make_whole(item) | any),
        _ => false,
    }
}

struct TypedCall<T: Tool> {
    tool: Arc<Typed<T>>,
    input: T::Input,
}

impl<T: Tool> Bound for TypedCall<T> {
    fn validate(&self) -> Result<(), Fault> {
        self.tool.tool.validate(&self.input)
    }
    fn effects(&self, base: &PathBase) -> Effects {
        self.tool.tool.effects_here(&self.input, base)
    }
    fn describe(&self) -> String {
        self.tool.tool.describe(&self.input)
    }
    fn classifier_input(&self) -> Option<String> {
        self.tool.tool.classifier_input(&self.input)
    }
    fn preview(&self, cx: Cx) -> BoxFuture<'_, Option<View>> {
        Box::pin(async move { self.tool.tool.preview(&self.input, &cx).await })
    }
    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Reply, Fault>> {
        Box::pin(async move { self.tool.tool.call(self.input, &cx).await })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_float_without_a_fraction_is_an_integer_where_one_is_wanted() {
        assert_eq!(typed::<Vec<u32>>("t", &json!([5.0, 6])).unwrap(), [5, 6]);
        assert_eq!(typed::<Vec<f64>>("t", &json!([5.0])).unwrap(), [5.0]);
        assert!(typed::<Vec<u32>>("t", &json!([5.5])).is_err());
        assert!(typed::<Vec<u8>>("t", &json!([256.0])).is_err());
    }
}
