//! What was made of a source.
//!
//! It is kept as long as the source does not change, and what was made of a tool (its compiled schema above all) as long
//! as the source has the same tool. What a search knows of the tools is read when somebody first searches.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

use haft_tool::SharedTool;

use super::{
    Problem, ProblemKind, Source,
    entry::Definition,
    names,
    search::{Document, Part, Readings, Stems, Weights},
    select::problem,
};

/// The tools of a source, in one version of it.
pub(super) struct Contents {
    pub(super) version: u64,
    /// Sorted by name, of which there are no two alike.
    pub(super) definitions: Vec<Arc<Definition>>,
    pub(super) problems: Vec<Problem>,
    part: OnceLock<Arc<Part>>,
    readings: Option<Arc<dyn Readings>>,
}

impl Contents {
    /// Reads a source, of which some tools may be `known`. One that breaks has no tools.
    pub(super) fn read(source: &dyn Source, version: u64, known: &[Arc<Definition>]) -> Contents {
        let read = catch_unwind(AssertUnwindSafe(|| Contents::read_whole(source, version, known)));
        read.unwrap_or_else(|_| Contents {
            version,
            definitions: Vec::new(),
            problems: vec![unreachable(source, "it broke while its tools were read".to_owned())],
            part: OnceLock::new(),
            readings: None,
        })
    }

    fn read_whole(source: &dyn Source, version: u64, known: &[Arc<Definition>]) -> Contents {
        // A known tool is kept alive by its definition, so its address cannot be another tool's.
        let known: HashMap<_, _> = known.iter().map(|known| (address(known.tool()), known)).collect();
        let definition = |tool: &SharedTool| match known.get(&address(tool)) {
            Some(known) => Arc::clone(known),
            None => Arc::new(Definition::new(source, Arc::clone(tool))),
        };
        let mut definitions: Vec<_> = source.tools().iter().map(definition).collect();
        definitions.sort_by(|one, other| one.name().cmp(other.name()));

        let mut problems: Vec<Problem> =
            source.problem().map(|why| unreachable(source, why)).into_iter().collect();
        definitions.dedup_by(|later, earlier| {
            let is_same = later.name() == earlier.name();
            if is_same {
                problems.push(problem(later, ProblemKind::Duplicate));
            }
            is_same
        });
        definitions.retain(|definition| match check_name(definition) {
            Ok(()) => true,
            Err(kind) => {
                problems.push(problem(definition, kind));
                false
            }
        });
        Contents { version, definitions, problems, part: OnceLock::new(), readings: source.readings() }
    }

    /// What a search knows of the tools. `stems` is shared by those who read many.
    pub(super) fn part(&self, stems: &mut Stems) -> Arc<Part> {
        let read = || {
            let documents: Vec<_> = self.definitions.iter().map(|tool| Document::from(&**tool)).collect();
            let weights = Weights::default();
            Arc::new(match &self.readings {
                Some(readings) => Part::recall(&documents, stems, &weights, &**readings),
                None => Part::read(&documents, stems, &weights),
            })
        };
        Arc::clone(self.part.get_or_init(read))
    }
}

fn unreachable(source: &dyn Source, why: String) -> Problem {
    Problem { tool: "".into(), source: source.id().into(), kind: ProblemKind::Unavailable(why) }
}

fn address(tool: &SharedTool) -> usize {
    Arc::as_ptr(tool).cast::<()>().addr()
}

fn check_name(definition: &Definition) -> Result<(), ProblemKind> {
    if definition.is_external() {
        return Ok(());
    }
    Ok(names::check_plain(definition.name())?)
}
