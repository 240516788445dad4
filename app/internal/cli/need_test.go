package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/study/report"
)

// phased is an experiment whose values differ by the phases of its senders, and that needs 10 seeds.
const phased = `title: phased
duration: 200ms
warmup: 100ms
repeat: {measure: delay.a, until: 6%, least: 3, most: 30}
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [b, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, c], rate: 10Mbps, delay: 1ms, buffer: 24 packets}
switch: [forward]
traffic:
  - {name: a, from: a, to: c, transport: udp, rate: $rate, start: 0s..10ms}
  - {name: b, from: b, to: c, transport: udp, rate: 8Mbps, start: 0s..10ms}
sweep: {rate: [1Mbps, 2100kbps, 4Mbps]}
measure: [goodput, delay]
plot: [{x: rate, y: delay, lines: [traffic]}]
expect: [{id: more, says: more is more, along: rate, that: next.goodput.a > goodput.a}]
quick: {repeat: 2}
`

// TestSeedsByNeed checks that every form of a result states that the data chose the number of seeds. Before a run the
// range is stated.
func TestSeedsByNeed(t *testing.T) {
	file, out := write(t, phased), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		code, text, errs := weir(append(args, "--out", out)...)
		if code != command.Done || errs != "" {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		return text
	}
	says := func(what, text string, all ...string) {
		t.Helper()
		words := strings.Join(strings.Fields(text), " ")
		for _, want := range all {
			if !strings.Contains(words, want) {
				t.Errorf("%s does not say %q:\n%s", what, want, text)
			}
		}
	}
	const choice = "10 runs per point, chosen by the data: delay.a within 6 % at 95 %"
	const worth = "so on average it is slightly too narrow"
	says("the terminal", run("run", file), choice, worth, "30 runs: all ran for the full duration", "more (30 runs)",
		"at all points: 10 runs")
	folders, _ := filepath.Glob(filepath.Join(out, "*"))
	if len(folders) != 1 {
		t.Fatalf("%q", folders)
	}
	says("the report", run("report", folders[0]), choice, worth)
	for name, want := range map[string]string{"report.html": choice + ". Seeds were added", "runs.json": `"chosen": "met"`,
		"plots/1-delay-over-rate.svg": "10 runs, chosen by the data"} {
		data, err := os.ReadFile(filepath.Join(folders[0], name))
		if err != nil {
			t.Fatal(err)
		}
		says(name, string(data), want)
	}
	says("CSV", run("run", file, "--csv"), `,value,seeds`, `"`+choice+`"`)
	var doc struct{ Seeds struct{ N int } }
	if err := json.Unmarshal([]byte(run("run", file, "--json", "--jobs", "1")), &doc); err != nil || doc.Seeds.N != 10 {
		t.Errorf("%v: %+v", err, doc)
	}

	few := run("run", file, "--set", "repeat.most=5")
	says("the terminal", few,
		"5 runs per point, the maximum: delay.a within 6 % at 95 % is not reached; rate=2100kbps is within 11 %")
	if strings.Contains(few, "chosen by the data") {
		t.Errorf("five seeds were enough:\n%s", few)
	}
	all, _ := filepath.Glob(filepath.Join(out, "*"))
	_, difference, _ := weir("diff", all[0], all[1])
	says("the difference", difference, choice, "5 runs per point, the maximum: delay.a within 6 %", "30 runs", "15 runs")
	if quick := run("run", file, "--quick"); strings.Contains(quick, "chosen") || !strings.Contains(quick, "6 runs") {
		t.Errorf("the quick variant says\n%s", quick)
	}
	for _, l := range strings.Split(few, "\n") {
		if len([]rune(l)) > report.DefaultWidth && !strings.Contains(l, "report.html") {
			t.Errorf("a line is too wide: %s", l)
		}
	}
}

// TestSeedsByNeedBefore checks that weir check and weir show state the minimum and maximum number of runs, and the
// criterion.
func TestSeedsByNeedBefore(t *testing.T) {
	file := write(t, phased)
	for _, c := range []struct{ command, want string }{
		{"check", "small is valid: 9 to 90 runs with 3 to 30 seeds per point, until delay.a within 6 % at 95 % is reached; " +
			"about 4.31 k to 43.1 k packet-hops, under 1 s"},
		{"show", "9 to 90 runs, 9 in the lab"},
		{"show", "repeat.measure delay.a small.yaml:4"},
		{"show", "repeat.confidence 95% default: Weir: as in reports"},
	} {
		code, text, errs := weir(c.command, file)
		if words := strings.Join(strings.Fields(text), " "); code != command.Done || !strings.Contains(words, c.want) {
			t.Errorf("weir %s ends with %d and does not say %q:\n%s%s", c.command, code, c.want, text, errs)
		}
	}
	code, text, _ := weir("check", file, "--set", "repeat=4")
	if code != command.Done || !strings.Contains(text, "valid: 12 runs") {
		t.Errorf("with a number it says\n%s", text)
	}
}

// wrongNeeds are maps of repeat that are refused.
var wrongNeeds = []bad{
	wrongNeed("in the lab, by need", "lab_repeat: {measure: jain, until: 2%}"),
	wrongNeed("a list", "repeat: [1, 2]"),
	wrongNeed("of no measure", "repeat: {until: 2%}"),
	wrongNeed("without a bound", "repeat: {measure: goodput.heavy}"),
	wrongNeed("an unknown key", "repeat: {measure: goodput.heavy, untill: 2%}"),
	wrongNeed("of an unknown measure", "repeat: {measure: goodpt.heavy, until: 2%}"),
	wrongNeed("of an unknown traffic", "repeat: {measure: goodput.heavi, until: 2%}"),
	wrongNeed("of several numbers", "repeat: {measure: goodput, until: 2%}"),
	wrongNeed("the bound zero", "repeat: {measure: goodput.heavy, until: 0%}"),
	wrongNeed("the bound negative", "repeat: {measure: goodput.heavy, until: -2%}"),
	wrongNeed("the bound a rate", "repeat: {measure: goodput.heavy, until: 2Mbps}"),
	wrongNeed("the bound large", "repeat: {measure: goodput.heavy, until: 200%}"),
	wrongNeed("all the confidence", "repeat: {measure: goodput.heavy, until: 2%, confidence: 100%}"),
	wrongNeed("little confidence", "repeat: {measure: goodput.heavy, until: 2%, confidence: 5%}"),
	wrongNeed("one seed", "repeat: {measure: goodput.heavy, until: 2%, least: 1}"),
	wrongNeed("the least above the most", "repeat: {measure: goodput.heavy, until: 2%, least: 9, most: 8}"),
	wrongNeed("the least above the usual most", "repeat: {measure: goodput.heavy, until: 2%, least: 60}"),
	wrongNeed("too many", "repeat: {measure: goodput.heavy, until: 2%, most: 20000}"),
}

func wrongNeed(name, repeat string) bad { return in(valid, name, "duration:", repeat+"\nduration:") }
