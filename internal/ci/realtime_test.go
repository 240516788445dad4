package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestJudgesRealTime(t *testing.T) {
	root := t.TempDir()
	sources := map[string]string{
		"a/a_test.go": `package a
func TestDirect(t *testing.T) { realtime.Test(t, func(try *realtime.Try) {}) }
func TestByMethod(t *testing.T) { for range 2 { t.Run("", func(t *testing.T) { star{}.judge(t) }) } }
func TestEvents(t *testing.T) { var attacked int; lay(t, attacked) }
func lay(t testing.TB, n int) {}
`,
		"a/helpers_test.go": `package a
func (s star) judge(t *testing.T) { attacked(t) }
func attacked(t *testing.T) { realtime.Test(t, nil) }
`,
		"b/b_test.go": "package b\nfunc TestOther(t *testing.T) { judge(t) }\nfunc judge(t *testing.T) {}\n",
		"b/b.go":      "package b\nfunc TestNoTest() { realtime.Test(nil, nil) }\n",
	}
	for name, src := range sources {
		writeFile(t, root, name, src)
	}
	judges, err := judgesRealTime(root, slices.Collect(maps.Keys(sources)))
	if err != nil {
		t.Fatal(err)
	}
	const want = "a TestByMethod,a TestDirect,a attacked,a judge"
	if got := strings.Join(slices.Sorted(maps.Keys(judges)), ","); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
