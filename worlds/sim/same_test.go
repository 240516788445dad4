package sim

import (
	"fmt"
	"hash/crc32"
	"runtime"
	"slices"
	"testing"

	"weir/core/trace"
	"weir/core/unit"
)

// form is a way to execute the same run.
type form struct {
	name   string
	change func(*Config)
}

// mainForms are the forms that differ most from the plain run. endForms adds a form that gives back every endpoint
// at once, and everyForm has all.
var (
	mainForms = []form{
		{"small window", func(c *Config) { c.Window = 300 * unit.Nanosecond }},
		{"three threads", func(c *Config) { c.Threads = 3 }},
		{"one group", func(c *Config) { c.Window = unit.Second }},
		{"wire", func(c *Config) { c.Wire = true }},
	}
	endForms  = append([]form{{"threads, none", func(c *Config) { c.Threads, c.sweeps = 3, 1 }}}, mainForms...)
	everyForm = append([]form{
		{"again", nil},
		{"pairs", func(c *Config) { c.Window = 1500 * unit.Nanosecond }},
		{"ends kept", func(c *Config) { c.sweeps = 1 << 30 }},
		{"no end kept", func(c *Config) { c.sweeps = 1 }},
	}, endForms...)
)

// digest keeps a checksum of the text and frame of each record of a trace.
type digest struct {
	sums []uint32
	text []byte
	each func(x *trace.Record, text []byte) // nil: none
}

func (d *digest) Write(x *trace.Record) error {
	d.text = trace.AppendText(d.text[:0], x)
	sum := crc32.Update(crc32.ChecksumIEEE(d.text), crc32.IEEETable, x.Frame)
	d.sums = append(d.sums, sum^uint32(x.FrameBytes)<<8^uint32(len(x.Frame)))
	if d.each != nil {
		d.each(x, d.text)
	}
	return nil
}

// sameInEveryForm runs a configuration as it is, on one processor and in other forms, each with all ports traced. Each
// has the plain run's trace, frames included, and its result if that has no time that depends on windows. It calls each
// with every record of the plain run's trace and its text.
func sameInEveryForm(t *testing.T, what string, forms []form, build func(change func(*Config)) *Config,
	each func(x *trace.Record, text []byte)) {
	t.Helper()
	run := func(change func(*Config), each func(*trace.Record, []byte)) (result string, sums []uint32, untilDone bool) {
		c, d := build(change), &digest{each: each}
		record(t, c, []string{"*"}, d)
		result = transcript(t, c)
		if err := c.Trace.Err(); err != nil {
			t.Fatal(err)
		}
		return result, d.sums, c.UntilDone
	}
	wantResult, wantSums, untilDone := run(nil, each)
	compare := func(name string, change func(*Config)) {
		t.Helper()
		result, sums, _ := run(change, nil)
		if result != wantResult && !untilDone { // which ends with a window
			t.Errorf("%s, %s: another result: %s", what, name, firstDifference(result, wantResult))
		}
		if !slices.Equal(sums, wantSums) {
			_, got, _ := traced(t, build(change), "*")
			_, want, _ := traced(t, build(nil), "*")
			t.Errorf("%s, %s: another trace: %s", what, name, difference(got, want))
		}
	}
	for _, f := range forms {
		compare(f.name, f.change)
	}
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	compare("GOMAXPROCS 1", nil)
}

// firstDifference shows where two texts begin to differ.
func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	part := func(s string) string { return s[max(0, i-60):min(len(s), i+60)] }
	return fmt.Sprintf("…%s…, want …%s…", part(got), part(want))
}
