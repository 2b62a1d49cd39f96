package condition

const (
	sourceToolBenchX = "ToolBench-X, "
	sourceHoHW       = "Hell or High Water "
)

// faultConditions are the conditions of the environment, in the order in which those of one instance apply: calls are
// refused (unavailable, session, rate, rejected, failures that pass), arguments are altered, results are altered
// (conflict, shape, values, form), and what is handed over is cut or late.
var faultConditions = []entry{
	execution("exec.unavailable", "a tool fails for good", func() fault { return &unavailable{} }, maxPoints, Survival{
		Visible: "an error that says to use another tool", By: "another plan",
		Parameters: "tool", Lookalike: "a note that the tool will be withdrawn later",
	}, "exec.first-tried", "exec.all-unavailable"),
	sourced(sourceHoHW+"§3.1 and appendix A", execution("exec.first-tried",
		"the first tool of any right path that is called fails for good, whatever its arguments; another whole path stays up",
		func() fault { return &firstTried{} }, 1, Survival{
			Visible: "an error that says to use another tool", By: "another plan",
			Parameters: "tool: that the primary plan calls first; paths: the right paths by their tools",
			Lookalike:  "a note that the tools will be withdrawn later",
		}, "exec.unavailable", "exec.all-unavailable")),
	sourced(sourceHoHW+"§1", execution("exec.all-unavailable", "every tool of every right path fails for good",
		func() fault { return &allUnavailable{} }, 1, Survival{
			Visible: "errors that say to use another tool", By: "nothing: declining is right", Hopeless: true,
			Parameters: "tool: that the primary plan calls first; paths: the right paths by their tools",
			Lookalike:  "a note that the tools will be withdrawn later",
		}, "exec.unavailable", "exec.first-tried")),
	{
		Info: described("distractors-only", "the right tools are gone, and similar ones that cannot answer remain",
			"Hell or High Water §5", Survival{
				Hazard: HazardMissing, Visible: "the specifications of the tools that remain, and what they return",
				By: "nothing: declining is right", Hopeless: true, Parameters: "tool: that the primary plan calls first",
			}),
		fault: func() fault { return &missingTools{} }, points: 1,
	},
	invocation("call.session", "the session has expired, and calls are refused until it is renewed",
		func() fault { return &session{} }, true, Survival{
			Visible: "an error that names the tool for renewal", By: "renewing, then making the call again",
			Parameters: "tool; renewals: how many the tool wants in the episode", Companions: toolRenew,
			Lookalike: "a note that the session will expire soon",
		}),
	invocation("call.rate-limit", "the quota of a tool is spent, and its calls are refused for some turns",
		func() fault { return &rateLimit{} }, true, Survival{
			Visible: "an error with the wait in turns", By: "waiting or doing other work, then making the call again",
			Parameters: "tool; wait: in turns from the first call to the tool",
			Lookalike:  "a note that one call of the quota is left",
		}),
	invocation("call.rejected", "validation refuses the first calls though they are right",
		func() fault { return &transient{} }, true, Survival{
			Visible: "an error that says so", By: "making the same call again",
			Parameters: "tool; times: how many calls are refused", Lookalike: "a note that the schema was refreshed",
		}),
	passes("exec.timeout", "the first calls to a tool time out", "a note of an answer that came late, and in time"),
	passes("exec.connection", "the first calls to a tool lose their connection",
		"a note of a connection that was restored"),
	passes("exec.server-error", "the first calls to a tool fail in the server", "a note of a gateway that asked again"),
	passes("exec.io", "the first calls to a tool fail to read its data", "a note of a read error that was corrected"),
	specification("spec.param-renamed", "an argument has a new name", func() fault { return &paramRenamed{} }, Survival{
		Visible: "an error that lists the names, and get_info", By: "calling with the new name",
		Parameters: "tool; argument; new_name", Companions: toolInfo, Lookalike: "a note that the name will change",
	}),
	specification("spec.param-retyped", "an argument wants another type", func() fault { return &paramRetyped{} },
		Survival{
			Visible: "an error that names the type, and get_info", By: "converting the value",
			Parameters: "tool; argument; wants: text, date or list", Companions: toolInfo,
			Lookalike: "a note that the type will change",
		}),
	specification("spec.param-added", "one more argument is required, with a closed set of values",
		func() fault { return &paramAdded{} }, Survival{
			Visible:    "an error that lists the values and says which one answers as before, and get_info",
			By:         "giving that value",
			Parameters: "tool; argument; values; as_before", Companions: toolInfo,
			Lookalike: "a note that an argument will be added",
		}),
	invocation("call.dropped-argument", "an argument is lost on its way", func() fault { return &dropped{} }, false,
		Survival{
			Visible: "the result echoes the arguments that were applied", By: "calling the strict form, or another path",
			Parameters: "tool; argument; strict: the name of the strict form", Companions: "the strict form of the tool",
			Lookalike: "an echo of the arguments as they were given",
		}, "call.coerced-argument", "call.default-argument"),
	invocation("call.coerced-argument", "the value of an argument is coerced on its way",
		func() fault { return &coerced{} }, false, Survival{
			Visible: "the result echoes the arguments that were applied", By: "calling the strict form, or another path",
			Parameters: "tool; argument; strict; how: upper, lower, zero, one or most",
			Companions: "the strict form of the tool",
			Lookalike:  "an echo of the arguments as they were given",
		}, "call.dropped-argument", "call.default-argument"),
	invocation("call.default-argument", "a default takes the place of an argument", func() fault { return &defaulted{} },
		false, Survival{
			Visible: "the result echoes the arguments that were applied", By: "calling the strict form, or another path",
			Parameters: "tool; argument; strict; default", Companions: "the strict form of the tool",
			Lookalike: "an echo of the arguments as they were given",
		}, "call.dropped-argument", "call.coerced-argument"),
	conflicting("conflict.stale", "a source answers from an older state", func() fault { return &stale{} }, Survival{
		Visible: "the dates beside the answers of two sources (as_of) differ", By: "trusting the newer",
		Parameters: "tool; mine and others: the tools of the sources; change; mine_as_of; others_as_of",
		Lookalike:  "dates that differ over equal values",
	}),
	conflicting("conflict.corrupted", "a source returns changed values", func() fault { return &corrupted{} }, Survival{
		Visible:    "a count of rows or a sum of a column (row_count, control_sum) that does not fit the records",
		By:         "counting and adding up, then taking the other source",
		Parameters: "tool; mine and others: the tools of the sources; change",
		Lookalike:  "a warning over counts and sums that fit",
	}),
	conflicting("conflict.minority", "one of three sources differs", func() fault { return &minority{} }, Survival{
		Visible: "two other sources are named (other_sources), and asking them shows the difference", By: "the majority",
		Parameters: "tool; mine and others: the tools of the sources; change; wrong: the source that is wrong in the mirror",
		Lookalike:  "three sources that agree",
	}),
	conflicting("conflict.pair", "two linked fields come from different records", func() fault { return &pair{} },
		Survival{
			Visible:    "the fields come from separate lists (fields_from), and a tool is named that reads them together",
			By:         "cross-checking before use, and trusting what was read together",
			Parameters: "tool; mine and others: the tools of the sources; change; field; moved", Lookalike: "lists that fit",
		}),
	specification("spec.result-renamed", "a field of the records has a new name", func() fault { return &resultRenamed{} },
		Survival{
			Visible: "the payload, and get_info", By: "reading the field under its new name",
			Parameters: "tool; column; field; new_name", Companions: toolInfo,
			Lookalike: "a new name that the specification gives from the start, of a field that nothing refers to",
		}),
	specification("spec.result-reshaped", "records are nested in an envelope or turned column-wise",
		func() fault { return &resultReshaped{} }, Survival{
			Visible: "the payload", By: "reading what is there",
			Parameters: "tool; shape: envelope or columns", Lookalike: "a version beside records in their old form",
		}),
	specification("spec.unit", "a field of numbers is scaled", func() fault { return &unit{} }, Survival{
		Visible: "the name of the field, or a field units beside the records", By: "converting back",
		Parameters: "tool; column; field; factor; sign: name or field", Lookalike: "units of ones",
	}),
	output("out.alias", "the values of a field are codes", func() fault { return &alias{} }, Survival{
		Visible: "a legend beside the records", By: "mapping the codes back",
		Parameters: "tool; column; field; prefix", Lookalike: "a legend of codes that do not occur",
	}),
	output("out.null-sentinel", "missing values are written as a value", func() fault { return &nullSentinel{} }, Survival{
		Visible: "the value is declared beside the records (missing_values)", By: "reading it as missing",
		Parameters: "tool; column; field; text", Lookalike: "a declaration of missing values that are null",
	}),
	output("out.reordered", "rows come in another order although order matters", func() fault { return &reordered{} },
		Survival{
			Visible: "the place of each row beside the records (sort_keys)", By: "sorting", Parameters: "tool",
			Lookalike: "places of rows that are in order",
		}),
	specification("spec.result-retyped", "numbers come as text", func() fault { return &resultRetyped{} }, Survival{
		Visible: "the payload, and get_info", By: "reading the numbers in the text",
		Parameters: "tool; column; field", Companions: toolInfo,
		Lookalike: "numbers as text, as the specification says from the start, where the answer may hold either",
	}, kindNumber, kindWrapped, kindLabelled, kindExplained),
	output(kindNumber, "numbers are written as another country writes them", func() fault { return &form{} }, Survival{
		Visible: "the locale beside the records", By: "parsing", Parameters: "tool; column; field; with: the locale",
		Lookalike: "a locale beside plain numbers",
	}, "spec.result-retyped", kindWrapped, kindLabelled, kindExplained),
	output(kindWrapped, "numbers are written with a unit", func() fault { return &form{} }, Survival{
		Visible: "the payload: USD 42.18", By: "extracting the number", Parameters: "tool; column; field; with: the unit",
		Lookalike: "a unit beside plain numbers",
	}, "spec.result-retyped", kindNumber, kindLabelled, kindExplained),
	output(kindLabelled, "values stand behind a label", func() fault { return &form{} }, Survival{
		Visible: "the payload: Answer: Tuesday", By: "extracting the value",
		Parameters: "tool; column; field; with: the label",
		Lookalike:  "a label beside plain values",
	}, "spec.result-retyped", kindNumber, kindWrapped, kindExplained),
	output(kindExplained, "values stand inside a sentence", func() fault { return &form{} }, Survival{
		Visible: "the payload", By: "extracting the value", Parameters: "tool; column; field; with: empty",
		Lookalike: "an explanation beside plain values",
	}, "spec.result-retyped", kindNumber, kindWrapped, kindLabelled),
	{
		Info: described("exec.crash", "calls fail half-way and return the records they had",
			sourceToolBenchX+"execution failure", Survival{
				Hazard: HazardExecution, Visible: "a mark that the records are not complete", By: "making the call again",
				Parameters: "tool; from: the first attempt that crashes; times: how many crash",
				Lookalike:  "a warning of a worker that was restarted over all records",
			}),
		fault: func() fault { return &crash{} }, points: maxPoints, passes: true, excludes: []string{"out.truncated"},
	},
	output("out.truncated", "the first page alone is handed over", func() fault { return &truncated{} }, Survival{
		Visible: "a cursor", By: "paging to the end", Parameters: "tool; size: of a page, in rows", Companions: toolPage,
		Lookalike: "a page that is the only one",
	}, "exec.crash"),
	{
		Info: described("exec.slow", "the answer comes late and in time", sourceToolBenchX+"execution failure", Survival{
			Hazard: HazardExecution, Visible: "the time that a note gives", By: "nothing to do: it is no failure",
			Harmless:   true,
			Parameters: "tool; milliseconds; deadline_milliseconds", Lookalike: "the kind is a look-alike itself",
		}),
		fault: func() fault { return &slow{} }, points: maxPoints,
	},
}

// described describes a condition of the environment.
func described(name, summary, source string, s Survival) Info {
	return Info{Name: name, Kind: KindEnvironment, Summary: summary, Source: source, Survival: &s}
}

func execution(name, summary string, f func() fault, points int, s Survival, excludes ...string) entry {
	s.Hazard = HazardExecution
	return entry{
		Info: described(name, summary, sourceToolBenchX+s.Hazard, s), fault: f, points: points, excludes: excludes,
	}
}

func invocation(name, summary string, f func() fault, passes bool, s Survival, excludes ...string) entry {
	s.Hazard = HazardInvocation
	return entry{
		Info: described(name, summary, sourceToolBenchX+s.Hazard, s), fault: f, points: maxPoints, passes: passes,
		excludes: excludes,
	}
}

// passes describes an execution failure that passes.
func passes(name, summary, lookalike string) entry {
	e := execution(name, summary, func() fault { return &transient{} }, maxPoints, Survival{
		Visible: "the error of its kind", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: lookalike,
	})
	e.passes = true
	return e
}

func specification(name, summary string, f func() fault, s Survival, excludes ...string) entry {
	s.Hazard = HazardSpecification
	return entry{Info: described(name, summary, sourceToolBenchX+s.Hazard, s), fault: f, points: maxPoints,
		excludes: excludes}
}

func output(name, summary string, f func() fault, s Survival, excludes ...string) entry {
	s.Hazard = HazardOutput
	return entry{Info: described(name, summary, sourceToolBenchX+s.Hazard, s), fault: f, points: maxPoints,
		excludes: excludes}
}

// conflicts are the kinds of which an instance can have one.
var conflicts = []string{"conflict.stale", "conflict.corrupted", "conflict.minority", "conflict.pair"}

func conflicting(name, summary string, f func() fault, s Survival) entry {
	s.Hazard, s.Mirror = HazardConflict, "the source that the plan does not use is the wrong one"
	s.Companions = "replicas of a tool, where the task has no second path"
	e := entry{Info: described(name, summary, sourceToolBenchX+s.Hazard, s), fault: f, points: 1}
	for _, other := range conflicts {
		if other != name {
			e.excludes = append(e.excludes, other)
		}
	}
	return e
}

// sourced gives a kind the paper that it is from.
func sourced(source string, e entry) entry {
	e.Source = source
	return e
}
