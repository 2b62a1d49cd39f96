package program

import (
	"regexp"
	"runtime/debug"
	"testing"
)

func TestOnlyWhatNamesTheCodeIsKnown(t *testing.T) {
	settings := func(list ...string) []debug.BuildSetting {
		var made []debug.BuildSetting
		for i := 0; i < len(list); i += 2 {
			made = append(made, debug.BuildSetting{Key: list[i], Value: list[i+1]})
		}
		return made
	}
	for _, c := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"nothing", nil, ""},
		{"no commit", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, ""},
		{"a commit", &debug.BuildInfo{Settings: settings("vcs.revision", "12ab", "vcs.modified", "false")}, "commit 12ab"},
		{"changes", &debug.BuildInfo{Settings: settings("vcs.revision", "12ab", "vcs.modified", "true")}, ""},
		{"unknown changes", &debug.BuildInfo{Settings: settings("vcs.revision", "12ab")}, ""},
		{"a module", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3", Sum: "h1:x"}}, "version v1.2.3"},
		{"a replaced module", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3", Sum: "h1:x",
			Replace: &debug.Module{Path: "../x"}}}, ""},
	} {
		if got := known(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCodeOfTests(t *testing.T) {
	got, err := Code()
	if err != nil || !regexp.MustCompile("^(file [0-9a-f]{64}|commit [0-9a-f]{40})$").MatchString(got) {
		t.Errorf("%q, %v", got, err)
	}
}
