package cli

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	pages "weir"
	"weir/internal/docsite"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/report"
)

// TestSchemePages checks the pages about schemes: titles name schemes, each scheme has at most one page, code fits a
// terminal, and the first example is an experiment that loads. Other examples replace its top-level keys.
func TestSchemePages(t *testing.T) {
	var names []string
	for _, k := range offline().listSchemes() {
		names = append(names, k.s.Name)
	}
	files, err := fs.Glob(pages.Files, docsite.SchemePages+"/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	paged := map[string]string{}
	for _, file := range files {
		t.Run(path.Base(file), func(t *testing.T) {
			data, err := fs.ReadFile(pages.Files, file)
			if err != nil {
				t.Fatal(err)
			}
			title, text, _ := strings.Cut(string(data), "\n")
			all := strings.Split(strings.TrimPrefix(title, "# "), ", ")
			if !slices.Contains(all, strings.TrimSuffix(path.Base(file), ".md")) {
				t.Errorf("the title %q lacks the name of the file", title)
			}
			for _, name := range all {
				if !slices.Contains(names, name) || paged[name] != "" {
					t.Errorf("%q is no scheme, or has the page %s", name, paged[name])
				}
				paged[name] = file
			}
			checkExamples(t, file, text)
		})
	}
}

// checkExamples loads the blocks of code of a page.
func checkExamples(t *testing.T, file, text string) {
	var first []string
	for i, block := range codeBlocks(text) {
		for _, line := range strings.Split(block, "\n") {
			if n := utf8.RuneCountInString(line); n > report.DefaultWidth-4 {
				t.Errorf("%d columns are wider than a terminal: %s", n+4, line)
			}
		}
		keys := topLevelKeys(block)
		switch {
		case strings.Contains(block, "file:"): // needs a file of the reader
			continue
		case i > 0:
			keys = replaceKeys(first, keys)
		default:
			first = keys
		}
		source := strings.Join(keys, "\n") + "\n"
		src := &experiment.Source{Name: path.Base(file), File: file, Data: []byte(source)}
		if _, err := plan.Load(offline().registry, src, experiment.Options{}); err != nil {
			t.Errorf("example %d: %v\n%s", i+1, err, source)
		}
	}
	if len(codeBlocks(text)) == 0 {
		t.Error("it has no example")
	}
}

// codeBlocks returns the indented blocks of a page without their indent.
func codeBlocks(text string) (blocks []string) {
	var block []string
	for _, line := range append(strings.Split(text, "\n"), "") {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			block = append(block, code)
		} else if len(block) > 0 {
			blocks, block = append(blocks, strings.Join(block, "\n")), nil
		}
	}
	return blocks
}

// topLevelKeys splits a YAML map into the texts of its keys.
func topLevelKeys(block string) (keys []string) {
	for _, line := range strings.Split(block, "\n") {
		if strings.HasPrefix(line, " ") && len(keys) > 0 {
			keys[len(keys)-1] += "\n" + line
		} else {
			keys = append(keys, line)
		}
	}
	return keys
}

// replaceKeys returns keys with those of the same name replaced. switch and switches replace each other.
func replaceKeys(keys, by []string) []string {
	name := func(key string) string {
		name, _, _ := strings.Cut(key, ":")
		return strings.TrimSuffix(name, "es")
	}
	all := slices.Clone(by)
	for _, key := range keys {
		if !slices.ContainsFunc(by, func(x string) bool { return name(x) == name(key) }) {
			all = append(all, key)
		}
	}
	return all
}

// TestWrapPage checks how a page looks in a terminal.
func TestWrapPage(t *testing.T) {
	const text = "One [link](../x.md) in\ntext that is wrapped.\n\n    code: {a: b, and: more, than: fits}\n\n## Part\n" +
		"\n" +
		"- an item that is wrapped\n- [next](x.md#a)\n\n| a | b |\n|---|---|\n| `x` | [y](z.md) |\n\n| a | b | c |\n" +
		"|---|---|---|\n| x | y and z and more | |\n\n[far](https://a.b/c.md)\n"
	const want = "One link (weir\ndocs x) in text\nthat is wrapped.\n\n    code: {a: b, and: more, than: fits}\n\n" +
		"Part\n\n- an item that is\n  wrapped\n- next (weir docs\n  x#a)\n\n`x`\n    y (weir show\n    z)\n\nx\n" +
		"    b: y and z and\n    more\n\nfar\n(https://a.b/c.md)"
	if got := wrapPage(text, 18); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestShowPage checks that weir show prints the page of a scheme once, and before its parameters.
func TestShowPage(t *testing.T) {
	for name, want := range map[string]string{
		"fq_codel": "Under the schedulers `fq` and `fq_codel`",
		"ncf":      "finds elephants, reserves memory",
		"cubic":    "",
	} {
		t.Run(name, func(t *testing.T) {
			text := show(t, name)
			if want != "" && (strings.Count(text, want) != 1 ||
				strings.Index(text, want) > strings.Index(text, "; default ")) {
				t.Errorf("it does not have %q once, before the parameters:\n%s", want, text)
			}
			if want == "" && strings.Contains(text, "duration: ") {
				t.Errorf("it has a page")
			}
		})
	}
}
