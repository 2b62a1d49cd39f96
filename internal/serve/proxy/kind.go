package proxy

import (
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
)

// form is the type of a setting in a faults file.
type form int

const (
	formText    form = iota // a text that is not empty
	formInteger             // a whole number between min and max
	formBoolean             //
	formChoice              // one of choices
	formValue               // any value
	formTexts               // a list of one or more texts, each once
)

// setting describes one setting of a kind: the parser and the published schema are both made from it.
type setting struct {
	name     string
	form     form
	min, max int
	choices  []string
	required bool
	says     string // for a person: what it is, and what holds without it
}

// class says where a kind takes hold.
type class int

const (
	classRefusal       class = iota // the call fails; the reply is the proxy's
	classArguments                  // the call reaches the server changed
	classSpecification              // the specification changes, and calls are held to it
	classListing                    // the listing changes
	classResult                     // the reply is changed
	classDelivery                   // the reply is late
)

// kind is a kind of fault that needs no knowledge of the data.
type kind struct {
	name     string
	class    class
	once     bool // it strikes once for each tool and session where the file says nothing else
	settings []setting
	harmless bool // the kind is a look-alike by nature
	alone    bool // a look-alike of it would have to know the data
	says     string
}

// Ways in which a refusal is delivered.
const (
	asResult  = "result"
	asError   = "error"
	asStatus  = "status"
	asDrop    = "drop"
	asSilence = "silence"
)

// maxWait bounds every wait that a faults file can ask for, in milliseconds.
const maxWait = 600_000

func setAs(choices ...string) setting {
	return setting{name: "as", form: formChoice, choices: choices,
		says: "How the failure reaches the client: a tool result marked as " +
			"an error (result, what holds without this), a JSON-RPC error, an HTTP status, a dropped connection, or no answer at all."}
}

var (
	setWait = setting{name: "wait_ms", form: formInteger, min: 0, max: maxWait,
		says: "Milliseconds before the failure is delivered. " +
			"A call that is never answered is let go of after this long over HTTP (60000 where nothing is said)."}
	setExecuted = setting{name: "executed", form: formBoolean,
		says: "Whether the call reaches the server all the same, and only its " +
			"reply is lost."}
	setArgument = setting{name: "argument", form: formText, required: true, says: "The name of the argument."}
	setField    = setting{name: "field", form: formText,
		says: "The field of the result. Without it, the first that fits."}
	setNeedsField = setting{name: "field", form: formText, required: true, says: "The field of the result."}
	setNewName    = setting{name: "new_name", form: formText, required: true, says: "The new name."}
	setShown      = setting{name: "shown", form: formBoolean,
		says: "Whether the changed specification stands in the listing from the " +
			"start. Otherwise it changes with the first call that is chosen."}
	setNotify = setting{name: "notify", form: formBoolean,
		says: "Whether the client is told that the listing has changed: yes where " +
			"nothing is said."}
	setStrict = setting{name: "strict", form: formBoolean,
		says: "Whether the listing gains a strict form of the tool, NAME_strict, " +
			"which takes arguments as they are given: yes where nothing is said."}
)

// kinds lists what can be asked for, in the order of the catalogue.
var kinds = []kind{
	{name: "exec.timeout", once: true, settings: []setting{setAs(asResult, asError, asStatus, asDrop, asSilence),
		setExecuted, setWait},
		says: "The call times out. With `wait_ms` the client waits that long for it."},
	{name: "exec.connection", once: true, settings: []setting{setAs(asResult, asError, asStatus, asDrop, asSilence),
		setExecuted, setWait},
		says: "The connection breaks."},
	{name: "exec.server-error", once: true, settings: []setting{setAs(asResult, asError, asStatus), setExecuted, setWait},
		says: "The server fails."},
	{name: "exec.io", once: true, settings: []setting{setAs(asResult, asError, asStatus), setExecuted, setWait},
		says: "The tool cannot read its data."},
	{name: "exec.unavailable", settings: []setting{setAs(asResult, asError, asStatus)},
		says: "The tool fails, and says that trying again will not help."},
	{name: "exec.first-tried", alone: true, settings: []setting{setAs(asResult, asError, asStatus)},
		says: "The first tool of those chosen that a session calls fails for good, whichever it is."},
	{name: "exec.slow", class: classDelivery, harmless: true, settings: []setting{
		{name: "delay_ms", form: formInteger, min: 0, max: maxWait, required: true,
			says: "By how many milliseconds the reply is late."},
	}, says: "The answer comes late. A look-alike: nothing is wrong with it."},
	{name: "exec.crash", class: classResult, once: true,
		says: "The first half of the result comes back, marked incomplete."},
	{name: "call.rejected", once: true, settings: []setting{setAs(asResult, asError, asStatus)},
		says: "Validation refuses a call that is right, and says that it will accept it later."},
	{name: "call.rate-limit", once: true, settings: []setting{
		setAs(asResult, asError, asStatus),
		{name: "retry_after", form: formInteger, min: 0, max: maxWait / 1000,
			says: "The seconds that the refusal asks to wait: 1 where " +
				"nothing is said. Calls that come sooner are counted by `times` alone, so that no run depends on time."},
	}, says: "A quota is spent: calls are refused with a wait."},
	{name: "call.session", once: true, settings: []setting{setAs(asResult, asError, asStatus)},
		says: "The session expires: calls are refused until the added tool `renew_session` is called. As a status, HTTP 404, and the " +
			"first `times` sessions (1 where nothing is said) have to be opened anew."},
	{name: "call.tool-missing", class: classListing,
		says: "The tool is not in the listing, and calls to it are refused as unknown."},
	{name: "call.dropped-argument", class: classArguments, settings: []setting{setArgument, setStrict},
		says: "An argument is lost on its way. The result echoes the arguments that were applied."},
	{name: "call.coerced-argument", class: classArguments, settings: []setting{
		setArgument, setStrict,
		{name: "how", form: formChoice, choices: []string{"upper", "lower", "zero", "one", "most"}, required: true,
			says: "What the value " +
				"becomes: a text in capitals or small letters, 0, 1, or the largest number that 32 bits hold."},
	}, says: "An argument is coerced on its way. The result echoes the arguments that were applied."},
	{name: "call.default-argument", class: classArguments, settings: []setting{
		setArgument, setStrict, {name: "value", form: formValue, required: true, says: "What takes the place of the value."},
	}, says: "An argument gives way to a default. The result echoes the arguments that were applied."},
	{name: "spec.param-renamed", class: classSpecification, settings: []setting{setArgument, setNewName, setShown,
		setNotify},
		says: "An argument has a new name, and the old one is refused."},
	{name: "spec.param-retyped", class: classSpecification, settings: []setting{
		setArgument,
		{name: "wants", form: formChoice, choices: []string{"text", "date", "list"}, required: true,
			says: "The digits of a number as " +
				"text, the first day of a year as a date, or a list of the one value."},
		setShown, setNotify,
	}, says: "An argument wants another type, and the old one is refused."},
	{name: "spec.param-added", class: classSpecification, settings: []setting{
		setArgument,
		{name: "as_before", form: formText, required: true, says: "The value under which the tool answers as before."},
		{name: "others", form: formTexts, required: true, says: "Other values, under which nothing is kept."},
		setShown, setNotify,
	}, says: "One more argument is required, with a closed set of values."},
	{name: "spec.tool-renamed", class: classSpecification, settings: []setting{setNewName, setShown, setNotify},
		says: "The tool has a new name, and the old one is unknown."},
	{name: "spec.description", class: classListing, settings: []setting{
		{name: "description", form: formText, required: true, says: "The new description."},
	}, says: "The listing describes the tool in other words."},
	{name: "spec.result-renamed", alone: true, class: classResult, settings: []setting{setNeedsField, setNewName},
		says: "A field of the result has a new name."},
	{name: "spec.result-retyped", alone: true, class: classResult, settings: []setting{setField},
		says: "The numbers of a field come as text."},
	{name: "spec.result-reshaped", class: classResult, settings: []setting{
		{name: "shape", form: formChoice, choices: []string{fault.ShapeEnvelope, fault.ShapeColumns}, required: true,
			says: "Records nested in an envelope, or turned column-wise."},
	}, says: "The result is wrapped."},
	{name: "spec.unit", class: classResult, settings: []setting{
		setField,
		{name: "factor", form: formChoice, choices: []string{"10", "100", "1000"},
			says: "What numbers are multiplied with: 100 where nothing is said."},
		{name: "sign", form: formChoice, choices: []string{"name", "field"},
			says: "Whether the name of the field or a field `units` says so."},
	}, says: "The numbers of a field come in another unit, and the result says so."},
	{name: "out.wrapped-unit", class: classResult, settings: []setting{
		setField, {name: "with", form: formText, says: "The unit: USD where nothing is said."},
	}, says: "Numbers come with a unit before them, as text."},
	{name: "out.labelled", class: classResult, settings: []setting{
		setField, {name: "with", form: formText, says: "The label: Answer where nothing is said."},
	}, says: "Values come behind a label."},
	{name: "out.explained", class: classResult, settings: []setting{setField}, says: "Values come inside a sentence."},
	{name: "out.alias", class: classResult, settings: []setting{
		setField, {name: "prefix", form: formText, says: "With what the codes begin: C where nothing is said."},
	}, says: "Values come as codes, with a legend."},
	{name: "out.truncated", class: classResult, settings: []setting{
		{name: "size", form: formInteger, min: 1, max: 100_000, says: "Rows in a page: 1 where nothing is said."},
	}, says: "The first page alone comes, with a cursor for the added tool `next_page`."},
	{name: "out.reordered", class: classResult, says: "Rows come in the opposite order, with their sort keys."},
	{name: "out.null-sentinel", class: classResult, settings: []setting{
		setField, {name: "text", form: formText, says: "What stands for missing texts: N/A where nothing is said."},
	}, says: "Missing values come as a declared value."},
	{name: "out.null", class: classResult, says: "The result is null."},
	{name: "out.number-format", class: classResult, settings: []setting{
		setField,
		{name: "locale", form: formChoice, choices: []string{"de-DE", "fr-FR", "pt-BR"},
			says: "Whose: de-DE where nothing is said."},
	}, says: "Numbers are written as a locale does, as text."},
	{name: "conflict.stale", alone: true, class: classResult,
		says: "The result is that of the first such call of the session, and says so in `as_of`."},
}

// Kinds lists the names of the kinds that a faults file can ask for, in the order of the catalogue.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

func findKind(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

func (k *kind) setting(name string) *setting {
	for i := range k.settings {
		if k.settings[i].name == name {
			return &k.settings[i]
		}
	}
	return nil
}

// variants lists what `variant` can be.
func (k *kind) variants() []string {
	switch {
	case k.harmless:
		return []string{fault.VariantLookalike}
	case !k.alone && slices.Contains(condition.Variants(k.name), fault.VariantLookalike):
		return []string{condition.RoleFault, fault.VariantLookalike}
	default:
		return []string{condition.RoleFault}
	}
}

// timed says whether `times` bounds the strikes of the kind.
func (k *kind) timed() bool {
	switch k.class {
	case classSpecification, classListing:
		return false
	case classRefusal:
		return k.name != "exec.first-tried"
	default:
		return true
	}
}
