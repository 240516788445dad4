package cli

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestShowKnowsListedNames checks that weir show has every name of the registry's kinds, which weir list lists.
func TestShowKnowsListedNames(t *testing.T) {
	r := Registry()
	shown := map[string]string{}
	for i := range reflect.TypeFor[experiment.Registry]().NumField() {
		field := reflect.TypeFor[experiment.Registry]().Field(i)
		all := reflect.ValueOf(*r).Field(i)
		if field.Name == "Library" || field.Type.Kind() != reflect.Slice {
			continue
		}
		if all.Len() == 0 {
			t.Errorf("the registry has no %s", field.Name)
		}
		for k := range all.Len() {
			name := all.Index(k).FieldByName("Name").String()
			if shown[name] == "" {
				shown[name] = show(t, name)
			}
			doc := all.Index(k).FieldByName("Doc")
			if text := strings.Join(strings.Fields(shown[name]), " "); !strings.Contains(text, " "+name+": ") ||
				doc.IsValid() && !strings.Contains(text, name+": "+strings.Join(strings.Fields(doc.String()), " ")) {
				t.Errorf("%s: weir show %s prints\n%s", field.Name, name, shown[name])
			}
		}
	}
}

// TestShowWarnings checks that weir list warnings and weir show have every kind of warning with its condition.
func TestShowWarnings(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Run(Registry(), []string{"list", "warnings"}, &out, &errs, false); code != command.Done {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	list := strings.Join(strings.Fields(out.String()), " ")
	for _, k := range WarningKinds(Registry()) {
		condition := strings.Join(strings.Fields(k.Condition), " ")
		if !strings.Contains(list, k.ID+" "+condition) {
			t.Errorf("weir list warnings lacks %s with its condition", k.ID)
		}
		if text := strings.Join(strings.Fields(show(t, k.ID)), " "); !strings.Contains(text, "warning "+k.ID+": "+condition) {
			t.Errorf("weir show %s prints\n%s", k.ID, text)
		}
	}
}

// TestShowMeasure checks that weir show prints the options of a measure, with values and defaults.
func TestShowMeasure(t *testing.T) {
	for name, want := range map[string][]string{
		"goodput": {"measure goodput: new payload bits per second", "use: measure: [goodput], or with options, measure: " +
			"[{goodput: {by: …}}]\n", "by\n    grouping of the values\n    value: traffic, all, ", "default traffic\n"},
		"jain":      {"every\n    time between samples\n    value: time; default: not over time\n"},
		"drops":     {"It has no options.\n"},
		"metric":    {"required"},
		"websearch": {"sizes websearch: flow sizes, mean ", "         10000  15 %\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := show(t, name)
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("it does not have %q:\n%s", w, text)
				}
			}
		})
	}
}

// TestShowRefuses checks the messages of options that do not fit, and of names with a slip.
func TestShowRefuses(t *testing.T) {
	for words, want := range map[string]string{
		"goodput --yaml":          "goodput is a measure and has no file",
		"csv --yaml":              "csv is a format (format of weir export) and has no file",
		"p4abc/fig5 --no-paper":   "--no-paper needs --yaml",
		"goodptu":                 `did you mean the measure "goodput"?`,
		"p4abc/fig5 --json":       "--topology and --json need --footprint",
		"tcp-send-bufer":          `did you mean the warning "tcp-send-buffer"?`,
		"tcp-send-buffer --yaml":  "tcp-send-buffer is a warning and has no file",
		"websaerch":               `did you mean the sizes "websearch"?`,
		"no-such --yaml":          "unknown experiment or file",
		"abc --yaml --seed 7":     "--yaml prints the file unchanged",
		"abc --yaml --no-paper":   "abc is a scheme (program) and has no file",
		"goodput --no-paper":      "--no-paper needs --yaml",
		"testdata --yaml":         "it is a folder",
		"shown/x.yaml --no-paper": "--no-paper needs --yaml",
	} {
		t.Run(words, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := Run(Registry(), append([]string{"show"}, strings.Fields(words)...), &out, &errs, false)
			if code != command.WrongInput || !strings.Contains(errs.String(), want) {
				t.Errorf("exit code %d, %s", code, errs.String())
			}
		})
	}
}

// TestNoPaperOfCatalogue checks of every experiment that its copy without the paper differs in the paper and its
// claims only.
func TestNoPaperOfCatalogue(t *testing.T) {
	r := Registry()
	papers := 0
	for _, e := range r.Experiments() {
		src, err := r.OpenExperiment(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := experiment.OmitPaper(src)
		if err != nil {
			t.Fatal(err)
		}
		before, after := parsed(t, string(src.Data)), parsed(t, string(text))
		if before.Find("paper") == nil {
			if string(text) != string(src.Data) {
				t.Errorf("%s has no paper, and its copy differs", e.Name)
			}
			continue
		}
		papers++
		for _, k := range before.Keys {
			got := after.Find(k.Name)
			if belongs := k.Name == "paper" || k.Name == "expect"; belongs != (got == nil) ||
				got != nil && got.FormatFlow() != k.Value.FormatFlow() {
				t.Errorf("%s: key %s: %v", e.Name, k.Name, got)
			}
		}
		if len(after.Keys) > len(before.Keys)-1 {
			t.Errorf("%s: the copy has %d keys of %d", e.Name, len(after.Keys), len(before.Keys))
		}
	}
	if papers < 50 {
		t.Errorf("only %d experiments name a paper", papers)
	}
}

// parsed parses an experiment's file.
func parsed(t *testing.T, text string) *document.Node {
	t.Helper()
	reader := document.NewReader(experiment.FileKind)
	node := document.Parse(reader, "x.yaml", []byte(text))
	if err := reader.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return node
}

// TestNoPaperIsValid checks that such a copy is an experiment without claims, and without warnings.
func TestNoPaperIsValid(t *testing.T) {
	var text, errs bytes.Buffer
	r := Registry()
	if code := Run(r, []string{"show", "p4abc/fig5", "--yaml", "--no-paper"}, &text, &errs, false); code != command.Done {
		t.Fatalf("exit code %d, %s", code, errs.String())
	}
	s := plantest.LoadSource(t, r, &experiment.Source{Name: "mine", File: "mine.yaml", Data: text.Bytes()},
		experiment.Options{})
	original, err := r.OpenExperiment("p4abc/fig5")
	if err != nil {
		t.Fatal(err)
	}
	whole := plantest.LoadSource(t, r, original, experiment.Options{})
	if len(s.Warnings()) > 0 || len(s.JudgeClaims(nil, 1)) > 0 || len(s.PaperValues()) > 0 || s.Paper().String() != "" {
		t.Errorf("warnings %v, %d claims, paper %q", s.Warnings(), len(s.JudgeClaims(nil, 1)), s.Paper().String())
	}
	if got, want := len(plan.ListRuns(s)), len(plan.ListRuns(whole)); got != want {
		t.Errorf("%d runs, not %d", got, want)
	}
}

// TestShowUnknownName checks that the error of weir show covers all kinds of names that it accepts.
func TestShowUnknownName(t *testing.T) {
	for name, want := range map[string]string{
		"no-such-name": `warning or file has the name "no-such-name"; weir list shows the experiments, and weir list KIND `,
		"ecm":          `has the name "ecm"; did you mean the scheme "ecmp"?; weir list`,
		"p4abc/fig55":  `has the name "p4abc/fig55"; did you mean "p4abc/fig5"?; weir list`,
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := weir("show", name)
			if code != command.WrongInput || !strings.Contains(stderr, want) ||
				!strings.Contains(stderr, "no experiment, scheme, measure, workload, format, warning or file has the ") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}
