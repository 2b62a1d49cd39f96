package condition

func (f *session) hint(*adviser) (string, error) {
	return code(f.Tool) + " may refuse calls with the error " + code(CodeSession) +
		". The call itself is right. At the first " +
		"such error call " + code(toolRenew) +
		", then make the same call again; where it is refused in the same way, renew once " +
		"more. Check by the second call: records show that the session is valid. A note on the age of the session beside an " +
		"answer asks for nothing: as long as calls are answered, nothing is wrong.", nil
}

func (f *rateLimit) hint(*adviser) (string, error) {
	return code(f.Tool) + " may refuse calls with the error " + code(CodeRateLimit) +
		", because its quota is spent. The quota " +
		"comes back after the number of turns that the error gives. Until then make other calls that the request needs, or let " +
		"turns go by; then make the same call again, and check that records come. Turn to another tool only where waiting would " +
		"use up your turns. A note on the calls that are left beside an answer asks for nothing: nothing is wrong.", nil
}

func (f *dropped) hint(*adviser) (string, error) {
	return f.meddled("may be lost", "it is missing"), nil
}

func (f *coerced) hint(*adviser) (string, error) {
	return f.meddled("may have its value changed", "its value is another one"), nil
}

func (f *defaulted) hint(*adviser) (string, error) {
	return f.meddled("may be replaced by a default", "its value is another one"), nil
}

// meddled is the hint of a kind of meddling: what may happen to the argument, and what the echo shows then.
func (f *meddling) meddled(happens, shows string) string {
	return "On its way to " + code(f.Tool) + " the argument " + code(f.Argument) + " " + happens +
		", so that the tool answers " +
		"another question. Before you use a result, compare " + code(fieldApplied) + " beside it with what you gave. Where " +
		code(f.Argument) + " differs, because " + shows + ", throw the result away and make the same call to " +
		code(f.Strict) +
		", the strict form of the tool, which takes arguments as they are given; or go by other tools. Where nothing differs, " +
		"nothing is wrong."
}
