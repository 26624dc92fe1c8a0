//! Tools without a type of their own: a closure, or a schema that somebody else wrote.

use std::{
    borrow::Cow,
    future::Future,
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    AnyTool, Availability, Bound, BoxFuture, Cx, Effects, Fault, Moment, PathBase, Reply, Schema, SharedTool,
    Spec, View, any::typed,
};

/// Begins a tool made from a closure.
///
/// ```
/// # use haft_tool::{tool, Effects, Reply};
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let add = tool("add")
///     .prompt("Adds two integers. Fails if the sum is too large.")
///     .effects(|_: &Add| Effects::none())
///     .call(|input: Add, _cx| async move {
///         let sum = input.a.checked_add(input.b).ok_or_else(|| haft_tool::Fault::failed("the sum is too large"))?;
///         Ok(Reply::text(sum.to_string()))
///     });
/// assert_eq!(add.spec().name(), "add");
/// ```
pub fn tool<I>(name: impl Into<Cow<'static, str>>) -> ToolBuilder<I> {
    ToolBuilder::of(Spec::new("").named(name.into()))
}

/// A tool in the making. Finish it with [`call`](ToolBuilder::call).
pub struct ToolBuilder<I, S = Derived> {
    spec: Spec,
    prompt: Option<String>,
    schema: OnceLock<Schema>,
    output: Option<Schema>,
    effects: Option<Box<EffectsOf<I>>>,
    describe: Option<Box<DescriptionOf<I>>>,
    how: PhantomData<S>,
}

type EffectsOf<I> = dyn Fn(&I) -> Effects + Send + Sync;
type DescriptionOf<I> = dyn Fn(&I) -> String + Send + Sync;

/// The schema comes from the input type.
#[derive(Debug)]
pub struct Derived;
/// The schema was given.
#[derive(Debug)]
pub struct Given;

impl<I> ToolBuilder<I> {
    /// A tool with a spec of its own.
    pub fn of(spec: Spec) -> ToolBuilder<I> {
        ToolBuilder {
            spec,
            prompt: None,
            schema: OnceLock::new(),
            output: None,
            effects: None,
            describe: None,
            how: PhantomData,
        }
    }
}

impl<I, S> ToolBuilder<I, S> {
    /// What the model is told. Without it, the doc comment of the input type.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// Changes the hints: `.spec(|spec| spec.toolset("readonly"))`.
    pub fn spec(mut self, change: impl FnOnce(Spec) -> Spec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// What a call is going to do. Without it, the unknown.
    pub fn effects(mut self, effects: impl Fn(&I) -> Effects + Send + Sync + 'static) -> Self {
        self.effects = Some(Box::new(effects));
        self
    }

    /// One line for a person about a call. Without it, the tool's title.
    pub fn describe(mut self, describe: impl Fn(&I) -> String + Send + Sync + 'static) -> Self {
        self.describe = Some(Box::new(describe));
        self
    }

    /// The schema of the reply's data.
    pub fn output(mut self, schema: Schema) -> Self {
        self.output = Some(schema);
        self
    }

    /// A schema that somebody else wrote, checked and coerced like any other. The input type is then usually
    /// [`serde_json::Value`].
    pub fn schema(self, schema: Value) -> ToolBuilder<I, Given> {
        ToolBuilder {
            spec: self.spec,
            prompt: self.prompt,
            schema: OnceLock::from(Schema::from_value(schema)),
            output: self.output,
            effects: self.effects,
            describe: self.describe,
            how: PhantomData,
        }
    }
}

impl<I: DeserializeOwned + JsonSchema + Send + Sync + 'static> ToolBuilder<I, Derived> {
    /// What it does. The tool is complete.
    pub fn call<F, Fut>(self, body: F) -> SharedTool
    where
        F: Fn(I, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Reply, Fault>> + Send + 'static,
    {
        self.finish(Schema::of::<I>, body)
    }
}

impl<I: DeserializeOwned + Send + Sync + 'static> ToolBuilder<I, Given> {
    /// What it does. The tool is complete.
    pub fn call<F, Fut>(self, body: F) -> SharedTool
    where
        F: Fn(I, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Reply, Fault>> + Send + 'static,
    {
        self.finish(|| Schema::from_value(Value::Bool(true)), body)
    }
}

impl<I: DeserializeOwned + Send + Sync + 'static, S> ToolBuilder<I, S> {
    fn finish<F, Fut>(self, derive: fn() -> Schema, body: F) -> SharedTool
    where
        F: Fn(I, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Reply, Fault>> + Send + 'static,
    {
        Arc::new(Closure {
            spec: self.spec,
            prompt: self.prompt,
            schema: self.schema,
            derive,
            output: self.output,
            effects: self.effects,
            describe: self.describe,
            body,
        })
    }
}

struct Closure<I, F> {
    spec: Spec,
    prompt: Option<String>,
    schema: OnceLock<Schema>,
    derive: fn() -> Schema,
    output: Option<Schema>,
    effects: Option<Box<EffectsOf<I>>>,
    describe: Option<Box<DescriptionOf<I>>>,
    body: F,
}

impl<I, F> Closure<I, F> {
    fn line(&self, input: &I) -> String {
        self.describe.as_ref().map_or_else(|| self.spec.title().to_owned(), |describe| describe(input))
    }
}

impl<I, F, Fut> AnyTool for Closure<I, F>
where
    I: DeserializeOwned + Send + Sync + 'static,
    F: Fn(I, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Reply, Fault>> + Send + 'static,
{
    fn spec(&self) -> &Spec {
        &self.spec
    }
    fn prompt(&self) -> &str {
        match &self.prompt {
            Some(prompt) => prompt,
            None => self.schema().description().unwrap_or_default(),
        }
    }
    fn schema(&self) -> &Schema {
        self.schema.get_or_init(self.derive)
    }
    fn output(&self) -> Option<&Schema> {
        self.output.as_ref()
    }
    fn availability(&self) -> Availability {
        Availability::Ready
    }
    fn bind(self: Arc<Self>, input: &Value) -> Result<Box<dyn Bound>, Fault> {
        let input = typed::<I>(self.spec.name(), input)?;
        Ok(Box::new(ClosureCall { tool: self, input }))
    }
    fn view(&self, input: &Value, moment: Moment<'_>) -> View {
        match typed::<I>(self.spec.name(), input) {
            Ok(input) => View::general(&self.line(&input), moment),
            Err(_) => View::general(self.spec.title(), moment),
        }
    }
}

struct ClosureCall<I, F> {
    tool: Arc<Closure<I, F>>,
    input: I,
}

impl<I, F, Fut> Bound for ClosureCall<I, F>
where
    I: DeserializeOwned + Send + Sync + 'static,
    F: Fn(I, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Reply, Fault>> + Send + 'static,
{
    fn validate(&self) -> Result<(), Fault> {
        Ok(())
    }
    fn effects(&self, _: &PathBase) -> Effects {
        self.tool.effects.as_ref().map_or_else(Effects::unknown, |effects| effects(&self.input))
    }
    fn describe(&self) -> String {
        self.tool.line(&self.input)
    }
    fn classifier_input(&self) -> Option<String> {
        None
    }
    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Reply, Fault>> {
        let ClosureCall { tool, input } = *self;
        // The future borrows nothing of the tool; the tool is kept all the same so that what it owns outlives the call.
        let running = (tool.body)(input, cx);
        Box::pin(async move {
            let _kept = tool;
            running.await
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_described_by_its_input_if_the_tool_knows_how() {
        let find = tool("Find")
            .describe(|input: &Value| format!("Find {}", input["what"].as_str().unwrap_or("anything")))
            .schema(json!({ "type": "object" }))
            .call(|_, _| async { Ok(Reply::text("found")) });
        let input = json!({ "what": "a needle" });
        assert_eq!(find.view(&input, Moment::Using), View::text("Find a needle"));
        assert_eq!(find.bind(&input).unwrap().describe(), "Find a needle");
        let plain = tool("Plain").schema(json!({})).call(|_: Value, _| async { Ok(Reply::text("")) });
        assert_eq!(plain.bind(&input).unwrap().describe(), "Plain");
    }
}
