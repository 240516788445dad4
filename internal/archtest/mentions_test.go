package archtest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMentionsCatches checks comments of a small tree, in which package b imports package a.
func TestMentionsCatches(t *testing.T) {
	const a = "package a\n\nimport \"io\"\n\ntype Queue struct {\n\tio.Reader\n\tLen int\n}\n\n" +
		"type Ring struct{ Meta Base }\n\ntype Base struct{ Out int }\n\ntype inner struct{ Base }\n\nfunc open() {}\n"
	for _, c := range []struct{ name, comment, want string }{
		{"a declaration", "uses a.Queue and a.open", ""},
		{"no declaration", "uses a.Stack", "b/b.go:5:9: package a has no Stack"},
		{"a field of an import", "uses a.Len", ""},
		{"a member of an import", "uses a.Ring.Meta", ""},
		{"no member of an import", "uses a.Ring.Head", "b/b.go:5:9: a.Ring has no Head"},
		{"a member of a type", "uses Thing.Size", ""},
		{"no member of a type", "uses Thing.Weight", "b/b.go:5:9: no Thing has Weight"},
		{"an embedded member", "uses Thing.Meta", ""},
		{"a member of a field's type", "uses Meta.Out", ""},
		{"a type of another package", "uses Base.Out", ""},
		{"a member of what io declares", "uses a.Queue.Read", ""},
		{"no type", "uses Stack.Push", "b/b.go:5:9: no Stack has Push"},
		{"a package by its folder", "uses far/c.Gone", "b/b.go:5:13: package c has no Gone"},
		{"a folder of others", "uses github.com/c.Gone", ""},
		{"a package without an import", "uses c.Gone", "b/b.go:5:9: package c has no Gone"},
		{"a variable", "uses x.Gone", ""},
		{"a file", "uses Ring.cc and README.md", ""},
		{"an acronym", "uses RACK.rtt", ""},
		{"a code span", "uses `Gone` and `Thing`", "b/b.go:5:10: the package has no Gone"},
		{"a link", "uses [Gone] and [*Thing]", "b/b.go:5:10: the package has no Gone"},
		{"a test", "uses TestThing and TestGone", "b/b.go:5:23: there is no test TestGone"},
		{"a sentence", "uses the queue. It has one\n// end. It has one end",
			"b/b.go:5:1: the comment contains twice: It has one end"},
		{"an exception", "uses a.Allowed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := "package b\n\nimport \"m/a\"\n\n// " + c.comment +
				".\n\n// Thing is one.\ntype Thing struct {\n\ta.Ring\n\tSize, x int\n}\n"
			checkMentionsOf(t, a, b, c.want)
		})
	}
}

// TestMentionsCatchesDocs checks the first words of doc comments.
func TestMentionsCatchesDocs(t *testing.T) {
	for _, c := range []struct{ name, declaration, want string }{
		{"the name", "// ReadAll reads.\nfunc ReadAll() {}", ""},
		{"an article", "// A Reader reads.\ntype Reader int", ""},
		{"another name", "// ReadMore reads.\ntype Reader int", "b/b.go:5:1: the comment of Reader begins with ReadMore"},
		{"a name of the package", "// ReadAll and Reader read.\ntype Reader int\n\n// ReadAll reads.\nfunc ReadAll() {}", ""},
		{"no name", "// Reads all.\nfunc ReadAll() {}", "b/b.go:5:1: the comment of ReadAll does not begin with the name"},
		{"a variable's", "// ReadMore reads.\nvar reads int", "b/b.go:5:1: the comment of var begins with ReadMore"},
		{"a field's", "type Reader struct {\n\t// MoreData follows.\n\tData int\n}",
			"the comment of a field begins with MoreData"},
		{"an acronym", "// RoCEv2 has headers.\nconst headers = 1", ""},
		{"init", "// Parts are linked.\nfunc init() {}", ""},
		{"an output", "func f() {\n\t// Output: a.Gone\n}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkMentionsOf(t, "package a\n", "package b\n\nimport \"m/a\"\n\n"+c.declaration+"\n", c.want)
		})
	}
}

// checkMentionsOf checks a tree with the packages a and b. The result is want, or no violation if want is "".
func checkMentionsOf(t *testing.T, a, b, want string) {
	t.Helper()
	files := fstest.MapFS{"a/a.go": {Data: []byte(a)}, "b/b.go": {Data: []byte(b)},
		"far/c/c.go": {Data: []byte("package c\n")}, "b/testdata/t.go": {Data: []byte("no Go")},
		"b/b_test.go": {Data: []byte("package b\n\n// Any comment will do.\nfunc helper() {}\n\n" +
			"// TestThing runs.\nfunc TestThing() {}\n")}}
	allowed := map[string]string{}
	if strings.Contains(b, "a.Allowed") {
		allowed["b/b.go: a.Allowed"] = "for the test"
	}
	found, err := checkMentions(files, "m", allowed)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Trim(fmt.Sprint(found), "[]")
	if want == "" && got != "" || !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMentionsExceptions checks that an exception without a use is reported.
func TestMentionsExceptions(t *testing.T) {
	files := fstest.MapFS{"a/a.go": {Data: []byte("package a\n")}}
	found, err := checkMentions(files, "m", map[string]string{"a/a.go: a.Gone": "for the test"})
	if err != nil || len(found) != 1 || found[0].Msg != "a/a.go: a.Gone needs no exception" {
		t.Errorf("%v, %v", found, err)
	}
	files["a/b.go"] = &fstest.MapFile{Data: []byte("no Go")}
	if _, err := checkMentions(files, "m", nil); err == nil {
		t.Error("a file that is no Go has no error")
	}
}
