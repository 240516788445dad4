package switchfile

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
)

// mark is the configuration of a program that marks.
type mark struct{ at unit.Length }

func (c *mark) Params(p *scheme.Params) {
	p.Length(&c.at, "at", "65 packets", "where it begins", "Weir")
}

var programs = []dataplane.Scheme{{Scheme: scheme.Scheme{Name: "mark", Config: scheme.NewDefault[mark]}},
	{Scheme: scheme.Scheme{Name: "forward"}}}

// A program's text holds all its parameters; names and maps are the same list.
func ExampleReadPrograms() {
	r := document.NewReader(document.FileKind{Name: "switch", Whole: "a switch file", First: "switch, …"})
	for _, p := range ReadPrograms(r, programs, document.Parse(r, "x.yaml", []byte("[forward, mark, none]")), Standalone) {
		fmt.Println(p.Scheme.Name, "as", p.CanonicalText())
	}
	// Output:
	// forward as {forward: {}}
	// mark as {mark: {at: 65 packets}}
}

func TestReaders_RejectBadValues(t *testing.T) {
	const list = "the value is not a list of programs"
	for _, x := range []struct{ text, want string }{
		{"programs: forward", list}, {"programs: [forwrd]", `did you mean "forward"?`},
		{"programs: [{mark: {at: fast}}]", "at of mark"}, {"programs: [{mark: {to: 1}}]", `unknown mark parameter "to"`},
		{"programs: [forward, mark, {mark: {}}]", "x.yaml:1:27: mark is here a second time; allowed: each program once"},
		{"scheduler: fifi", `did you mean "fifo"?`}, {"queues: 17", "not a whole number in the range"},
		{"buffer: 0 packets", "holds no packet"}, {"buffer: 3 miles", "3 miles"},
	} {
		t.Run(x.text, func(t *testing.T) {
			r := document.NewReader(document.FileKind{Name: "switch", Whole: "a switch file", First: "switch, …"})
			root := document.Parse(r, "x.yaml", []byte(x.text))
			switch key := root.Keys[0]; key.Name {
			case "programs":
				ReadPrograms(r, programs, key.Value, Standalone)
			case "scheduler":
				ReadScheduler(r, tm.Schemes(), key.Value, 1)
			case "queues":
				ReadQueueCount(r, key.Value)
			case "buffer":
				ReadBuffer(r, key.Value)
			}
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, and not %q", err, x.want)
			}
		})
	}
}

func TestReadScheduler_MakesScheduler(t *testing.T) {
	r := document.NewReader(document.FileKind{Name: "switch", Whole: "a switch file", First: "switch, …"})
	served := ReadScheduler(r, tm.Schemes(), document.Parse(r, "x.yaml", []byte("strict")), 3)
	if served == nil || r.Err() != nil {
		t.Fatal(r.Err())
	}
	if s, err := served.Make(3, unit.LinkRate{Bits: unit.Gbps}); s == nil || err != nil {
		t.Error(s, err)
	}
}
