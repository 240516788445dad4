package cite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"weir/internal/cite"
)

const list = `# Sources

### HPCC

Y. Li and others: High Precision Congestion Control. SIGCOMM 2019.

### NCF

Also cited as ` + "`BS'19`, `Nacks`" + `.

Feldmann and others: A Case for NACKs. BS 2019. §4.1 to §4.3: signals; §5: what is open, unlike HPCC §9.

### RFC 8985

The RACK-TLP Loss Detection Algorithm for TCP, 2021.

### draft-pan-hpccplus

Pan and others: an Internet-Draft of 2020.

### HPCC simulator

The authors' own, with run.py and rdma-hw.cc.

### IEEE 802.1Qbb

Priority-based flow control: pauses by class.
`

func works(t *testing.T) *cite.Works {
	t.Helper()
	w, err := cite.ReadWorks(list)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func pages(name string) bool { return name == "docs/design.md#the-one-idea" || name == "spec.md" }

func TestWorks_CheckTextFindsWrongCitations(t *testing.T) {
	for _, c := range []struct {
		name, text, home string
		want             string // part of the only thing that is wrong; "" for nothing
	}{
		{"nothing is cited", "A queue's length counts what waits.", "", ""},
		{"section", "HPCC §5.1: eta is 95 %", "", ""},
		{"other form", "as in BS'19 §4.2, §4.3", "", ""},
		{"with its conference", "HPCC (SIGCOMM 2019) §3.2", "", ""},
		{"section of what was named last", "HPCC has two rates: §3.2", "", ""},
		{"section of what follows", "figure 7 and §4.1 of HPCC", "", ""},
		{"section of the room's work", "§6.1: guideline 3", "HPCC", ""},
		{"no work", "§6.1: guideline 3", "", `"§6.1: " is of no work`},
		{"unknown work", "XCP §3.5: shuffling", "HPCC", `"XCP" before "§3.5: " is no work`},
		{"unknown work behind a known one", "HPCC, or XCP §3.5", "", `"XCP" before "§3.5" is no work`},
		{"part of a longer name", "HPCCv2 §3", "HPCC", `"HPCCv2" before "§3" is no work`},
		{"notes", "live.md §3 measured it", "HPCC", "no work of docs/sources.md\nthere is no page live.md"},
		{"equation", "equation 4 says so", "", "is of no work"},
		{"equation of a work", "HPCC equation 4 says so", "", ""},
		{"RFC", "RFC 8985 §6.2", "", ""},
		{"unknown RFC", "RFC 8986, whatever", "", "has no RFC 8986"},
		{"draft", "draft-pan-hpccplus §4", "", ""},
		{"unknown draft", "draft-pan-hpccplus-03 §4", "HPCC", "has no draft-pan-hpccplus-03"},
		{"standard", "IEEE 802.1Qbb", "", ""},
		{"unknown standard", "IEEE 802.1Qau", "", "has no IEEE 802.1Qau"},
		{"conference", "in SIGCOMM'19", "", ""},
		{"unknown conference", "in SIGCOMM'18", "", "nothing of SIGCOMM 2018"},
		{"author", "Feldmann et al. say", "", ""},
		{"conference of the last century", "in SIGCOMM'98", "", "nothing of SIGCOMM 1998"},
		{"unknown author", "Katabi et al. say", "", "no author Katabi"},
		{"what is not in the tree", "facts A5 has it", "HPCC", `"facts A5" is not in the tree`},
		{"a heading", "docs/design.md#the-one-idea", "", ""},
		{"no such heading", "docs/design.md#the-two-ideas", "", "no page docs/design.md#the-two-ideas"},
		{"an example of a file", "source: §6.2.3", "", ""},
		{"figure", "HPCC figure 7, and lines 3 to 9 of HPCC", "", ""},
		{"our own figure", "As figure 5 shows, and table 1 of this page", "", ""},
		{"unknown work's figure", "XCP figure 7", "HPCC", `"XCP" before "figure 7" is no work`},
		{"unknown work's table", "XCP table 3", "", `"XCP" before "table 3" is no work`},
		{"lines of an unknown work", "lines 3 to 9 of XCP", "HPCC", `"XCP" behind "lines 3`},
		{"figure of an unknown work", "in figure 7 of the XCP paper", "", `"XCP" behind "figure 7`},
		{"section behind a comma", "as in HPCC, §3.5", "", ""},
		{"unknown work before a comma", "as in XCP, §3.5", "HPCC", `"XCP" before "§3.5" is no work`},
		{"unknown name before a comma", "as in Copa, §3", "HPCC", `"Copa" before "§3" is no work`},
		{"end of a clause before a comma", "in NewINT, lines 3 to 5", "HPCC", ""},
		{"section that its work does not have", "NCF §7", "", "has no §7 of NCF"},
		{"the second of two", "NCF §4.3, §7", "", "has no §7 of NCF"},
		{"the last of a span", "NCF §5 to §7", "", "has no §6 of NCF\ndocs/sources.md has no §7 of NCF"},
		{"a number that only begins alike", "NCF §41", "", "has no §41 of NCF"},
		{"within a span that is listed", "NCF §4.2", "", ""},
		{"part of a section that is listed", "NCF §5.1", "", ""},
		{"section of which a part is listed", "NCF §4", "", ""},
		{"section of the room's work that it does not have", "§7: what is open", "NCF", "has no §7 of NCF"},
		{"of the work named last or of the room's", "RFC 8985 has it, and §4.1 asks for it", "NCF", ""},
		{"section that an entry names of another work", "NCF §9", "", "has no §9 of NCF"},
		{"work without sections in its entry", "HPCC §99", "", ""},
		{"unknown work with its year", "XCP (2002) §3.5", "HPCC", `"XCP" before "§3.5" is no work`},
		{"unknown work in small letters", "xcp §3.5", "HPCC", `"xcp" before "§3.5" is no work`},
		{"part of an author's name", "Feld et al. say", "", "no author Feld"},
		{"conference that no work is of", "ICNP 2019", "", "nothing of ICNP 2019"},
		{"journal that no work is of", "CCR 2018", "", "nothing of CCR 2018"},
		{"unknown RFC with a hyphen", "RFC-9999", "", "has no RFC 9999"},
		{"unknown RFC in small letters", "rfc 9999", "", "has no RFC 9999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := works(t).CheckText(c.text, c.home, pages)
			want := strings.Split(c.want, "\n")
			if c.want == "" {
				want = nil
			}
			if len(got) != len(want) {
				t.Fatalf("%q, want %q", got, want)
			}
			for i := range got {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("%q, want %q", got[i], want[i])
				}
			}
		})
	}
}

func TestWorks_CheckSourceRejectsUnknownForms(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"Weir", "Weir", ""},
		{"a reason", "Weir: two frames", ""},
		{"no reason", "Weir: ", "neither"},
		{"not quite Weir", "Weir, as ecn", "neither"},
		{"work", "RFC 8985", ""},
		{"place", "HPCC §5.1", ""},
		{"places", "HPCC §5.1, footnote 4", ""},
		{"what it says", "HPCC §5.1: 11 % of the free buffer", ""},
		{"conference", "HPCC (SIGCOMM 2019) §4.1, figure 7", ""},
		{"two works", "HPCC §3.1, RFC 8985 §3.1, HPCC simulator", ""},
		{"two parts", "Weir: below eta; HPCC §5.1", ""},
		{"a place in the work before", "NCF §4.3; §5", ""},
		{"an option's", "all: NCF §4.3; elephants: §5", ""},
		{"code", "HPCC simulator: KMIN_MAP", ""},
		{"file", "HPCC simulator rdma-hw.cc, run.py", ""},
		{"quotation", `NCF §4.3, "quickly reduce"`, ""},
		{"none", "", "no source"},
		{"unknown work", "XCP §3.5", "neither a work"},
		{"unknown option's work", "bdp: XCP §3.5", "neither a work"},
		{"unknown second work", "HPCC §3.1, XCP §3.5", "neither a work"},
		{"words behind the work", "HPCC has it somewhere", "is no place in HPCC"},
		{"notes", "facts E1", "neither a work"},
		{"notes in what it says", "HPCC: 200us (facts G)", `"facts G" is not in the tree`},
		{"unknown RFC in a reason", "Weir: RFC 8986 has none", "has no RFC 8986"},
		{"a place of no work", "§5", "neither a work"},
		{"section that its work does not have", "NCF §7", "has no §7 of NCF"},
		{"one of a second work", "HPCC §3.1, NCF §7", "has no §7 of NCF"},
		{"one in a later part", "NCF §4.3; §7", "has no §7 of NCF"},
		{"notes in brackets", "HPCC (facts A5)", `"facts A5" is not in the tree`},
		{"unknown work in brackets", "HPCC (XCP §3)", `"XCP" before "§3`},
		{"unknown RFC in brackets", "HPCC (RFC 99999)", "has no RFC 99999"},
		{"unknown work in square brackets", "HPCC §3.1[XCP §3]", `"XCP" before "§3`},
		{"an option of Weir", "all: Weir: below eta", ""},
		{"unknown work in an option's reason", "all: Weir: XCP §3.5", `"XCP" before "§3.5" is no work`},
		{"unknown RFC in an option's reason", "all: Weir: RFC 99999 has none", "has no RFC 99999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := works(t).CheckSource(c.source, "", pages)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestReadWorks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"none", "# Sources\n", "no work"},
		{"no text", "### A\n\n### B\n\nsome words say what it is\n", `work "A" has no reference entry`},
		{"no text at the end", "### A\n", `work "A" has no reference entry`},
		{"twice", list + "### HPCC\n\nsome words say what it is\n", `"HPCC" stands for`},
		{"a form twice", list + "### Other\n\nAlso cited as `BS'19`.\n", `"BS'19" stands for`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := cite.ReadWorks(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestCheckCatches checks that every kind of file is read, and that a wrong citation is reported with its place.
func TestCheckCatches(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"Go comment", "core/x.go", "package x\n\n// f is XCP §3.\nfunc f() {}\n", "core/x.go:3: "},
		{"Go comment behind code", "core/x.go", "package x\n\nvar f int // XCP §3\n", "core/x.go:3: "},
		{"package comment", "core/x.go", "// Package x is XCP §3.\npackage x\n", "core/x.go:1: "},
		{"a table in it", "core/x.go", "// Package x is HPCC.\n//\n//\t§3 f TestF\n//\tXCP §3 g TestG\npackage x\n",
			"core/x.go:1: "},
		{"test's comment", "core/x_test.go", "package x\n\n// XCP §3: so.\nfunc f() {}\n", "core/x_test.go:3: "},
		{"the room's work", "core/x.go", "// Package x is HPCC.\npackage x\n\n// §3\nfunc f() {}\n", ""},
		{"no work of the room", "core/x.go", "package x\n\n// §3\nfunc f() {}\n", "core/x.go:3: "},
		{"experiment's head", "p/experiments/a.yaml", "# HPCC and\n# XCP §3\ntitle: a\n", "p/experiments/a.yaml:1: "},
		{"experiment's line", "p/experiments/a.yaml", "title: a # XCP §3\n", "p/experiments/a.yaml:1: "},
		{"experiment's value", "p/experiments/a.yaml", "title: a\nsays: XCP §3\n", "p/experiments/a.yaml:2: "},
		{"template", "core/a.tmpl", "<p>\nXCP §3\n", "core/a.tmpl:2: "},
		{"page", "docs/a.md", "# A\n\nfirst\n\nXCP §3\n", "docs/a.md:5: "},
		{"page's heading", "docs/a.md", "# A\n\n## HPCC\n\nin §3\n", ""},
		{"link", "docs/a.md", "[b](b.md) and [sources](sources.md#hpcc)", "docs/a.md:1: there is no page b.md"},
		{"inputs of tests", "core/testdata/a.md", "XCP §3", ""},
		{"Go string", "core/x.go", "package x\n\nvar f = \"XCP §3\"\n", "core/x.go:3: "},
		{"sum of strings", "core/x.go", "package x\n\nvar f = \"XCP \" +\n\t`§3` + \" says\"\n", "core/x.go:3: "},
		{"strings that are not added", "core/x.go", "package x\n\nvar f = \"XCP \" < \"§3\" && 1+2 < len(\"HPCC §3\")\n",
			"core/x.go:3: \"§3\" is of no work"},
		{"a string of the room's work", "core/x.go", "// Package x is HPCC.\npackage x\n\nvar f = \"§3\"\n", ""},
		{"test's string", "core/x_test.go", "package x\n\nvar f = \"XCP §3\"\n", ""},
		{"the grammar's own strings", "internal/cite/x.go", "package x\n\nvar f = \"XCP §3\"\n", ""},
		{"results", "results/a.md", "XCP §3", ""},
		{"an editor's file", ".#a.md", "XCP §3", ""},
		{"a file that the go command ignores", "core/_x.go", "no Go", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := cite.Open(fstest.MapFS{cite.Sources: {Data: []byte(list)}, c.file: {Data: []byte(c.text)}})
			if err != nil {
				t.Fatal(err)
			}
			wrong, err := tree.Check()
			if err != nil || len(wrong) > 1 || (len(wrong) == 0) != (c.want == "") ||
				len(wrong) == 1 && !strings.HasPrefix(wrong[0].String(), c.want) {
				t.Errorf("%v, %v; want %q", wrong, err, c.want)
			}
		})
	}
}

// TestOpenSkipsLinks checks that Open does not follow links, such as the locks of an editor, which lead nowhere.
func TestOpenSkipsLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, cite.Sources), []byte(list), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".#README.md", "draft.md", "draft.go"} {
		if err := os.Symlink("user@host.123", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cite.Open(os.DirFS(dir)); err != nil {
		t.Error(err)
	}
}

// TestCheckOrder checks that wrong citations are reported in the order of files and lines. A tree that cannot be
// read is an error.
func TestCheckOrder(t *testing.T) {
	tree, err := cite.Open(fstest.MapFS{cite.Sources: {Data: []byte(list)}, "b.tmpl": {Data: []byte("XCP §3\n\nXCP §4\n")},
		"c/x.go": {Data: []byte("package x\n\n// XCP §3.\nvar f = \"XCP §4\"\n")},
		"a.yaml": {Data: []byte("title: XCP §3\n")}, "d.md": {Data: []byte("# XCP §3\n")}})
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := tree.Check()
	var places []string
	for _, w := range wrong {
		places = append(places, fmt.Sprintf("%s:%d", w.File, w.Line))
	}
	if want := "a.yaml:1 b.tmpl:1 b.tmpl:3 c/x.go:3 c/x.go:4 d.md:1"; err != nil || strings.Join(places, " ") != want {
		t.Errorf("%v, %q, want %q", err, places, want)
	}
	if err := tree.CheckSource("NCF §4.1: signals", ""); err != nil {
		t.Error(err)
	}
	if err := tree.CheckSource("XCP §3", "HPCC"); err == nil {
		t.Error("XCP is a work")
	}
	for name, files := range map[string]fstest.MapFS{
		"no sources": {"a.md": {Data: []byte("# A\n")}},
		"no works":   {cite.Sources: {Data: []byte("# Sources\n")}},
		"no Go":      {cite.Sources: {Data: []byte(list)}, "a.go": {Data: []byte("pack")}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := cite.Open(files); err == nil {
				t.Error("it is a tree")
			}
		})
	}
	files := fstest.MapFS{cite.Sources: {Data: []byte(list)}, "a.go": {Data: []byte("package a\n\nfunc {\n")}}
	if tree, err = cite.Open(files); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Check(); err == nil || !strings.HasPrefix(err.Error(), "a.go:3:") {
		t.Errorf("a file that is no Go: %v", err)
	}
}

// TestWorks_KeyAcceptsAnyForm checks that a work has one key, and that any of its forms selects it, in any case.
func TestWorks_KeyAcceptsAnyForm(t *testing.T) {
	w := works(t)
	if got, want := strings.Join(w.Keys(), ", "),
		"HPCC, HPCC simulator, IEEE 802.1Qbb, NCF, RFC 8985, draft-pan-hpccplus"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for form, want := range map[string]string{"NCF": "NCF", "ncf": "NCF", "BS'19": "NCF", "nacks": "NCF",
		"rfc 8985": "RFC 8985", "XCP": "", "": ""} {
		if got := w.Key(form); got != want {
			t.Errorf("%q is of %q, want %q", form, got, want)
		}
	}
}

func ExampleWorks_CheckSource() {
	works, err := cite.ReadWorks("### HPCC\n\nHigh Precision Congestion Control, SIGCOMM 2019.\n")
	if err != nil {
		fmt.Println(err)
		return
	}
	none := func(string) bool { return false }
	fmt.Println(works.CheckSource("HPCC §5.1: 95 %", "", none))
	fmt.Println(works.CheckSource("XCP §3.5", "", none))
	// Output:
	// <nil>
	// "XCP §3.5": "XCP §3.5" is neither a work of docs/sources.md nor "Weir"
}
