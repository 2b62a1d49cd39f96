package transcript

import "testing"

func TestKindsOfAgents(t *testing.T) {
	for _, test := range []struct {
		agent, provider, name          string
		isCommand, isModel, isScripted bool
	}{
		{agent: "recover", isScripted: true},
		{agent: "cmd: python a/b.py", isCommand: true},
		{agent: "mcp:client {config}", isCommand: true},
		{agent: "openai/org/name:free", provider: "openai", name: "org/name:free", isModel: true},
	} {
		provider, name, isModel := ModelOf(test.agent)
		if provider != test.provider || name != test.name || isModel != test.isModel ||
			IsCommand(test.agent) != test.isCommand || IsPolicy(test.agent) != test.isScripted {
			t.Errorf("%q: %q %q, a model %t, a command %t, a policy %t", test.agent, provider, name, isModel,
				IsCommand(test.agent), IsPolicy(test.agent))
		}
	}
}
