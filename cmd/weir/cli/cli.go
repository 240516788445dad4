// Package cli is the command line of weir. Main is exported, so that others can
// build a weir with schemes of their own.
package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"weir/core/scheme"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/report"
)

// Exit codes.
const (
	Done        = 0
	RunFailed   = 1 // a run failed or was cut short
	WrongInput  = 2
	ClaimFailed = 3 // with --check
	Interrupted = 130
)

// command is the command line.
type command struct {
	List    listCmd    `cmd:"" help:"List experiments, schemes, measures."`
	Show    showCmd    `cmd:"" help:"Show an experiment or a scheme with every parameter and where it comes from."`
	Check   checkCmd   `cmd:"" help:"Validate an experiment and list its runs with an estimate."`
	Run     runCmd     `cmd:"" help:"Run an experiment."`
	Report  reportCmd  `cmd:"" help:"Make the report of results folders anew, and show it."`
	Trace   traceCmd   `cmd:"" help:"Filter and summarise a trace, as weir run --trace leaves it, or a pcapng file."`
	Diff    diffCmd    `cmd:"" help:"Compare two results folders."`
	Import  importCmd  `cmd:"" help:"Make an experiment of a configuration of the HPCC simulator."`
	Export  exportCmd  `cmd:"" help:"Write results as the HPCC simulator's files."`
	Schema  schemaCmd  `cmd:"" help:"Print a JSON schema of experiment files, for editors."`
	Bench   benchCmd   `cmd:"" help:"Measure speed."`
	Lab     labCmd     `cmd:"" help:"The lab: experiments between namespaces of this machine."`
	Switch  switchCmd  `cmd:"" help:"A switch on its own, between interfaces of this machine."`
	Version versionCmd `cmd:"" help:"Print the version."`

	LabDataplane labDataplaneCmd `cmd:"" hidden:"" name:"lab-dataplane" help:"The process of a lab's data plane."`

	SwitchSupervisor switchSupervisorCmd `cmd:"" hidden:"" name:"switch-supervisor" help:"What a switch's process becomes."`
	SwitchDataplane  switchDataplaneCmd  `cmd:"" hidden:"" name:"switch-dataplane" help:"The process of a switch's data plane."`
}

// app is what commands work with.
type app struct {
	registry *experiment.Registry
	stdout   io.Writer
	stderr   io.Writer
	terminal bool // stderr is one
	args     []string
	code     int
}

// Main runs the command line of this process and returns its exit code.
func Main(r *experiment.Registry) int {
	info, err := os.Stderr.Stat()
	return Run(r, os.Args[1:], os.Stdout, os.Stderr, err == nil && info.Mode()&os.ModeCharDevice != 0)
}

// Run is Main with everything handed in.
func Run(r *experiment.Registry, args []string, stdout, stderr io.Writer, terminal bool) (code int) {
	var c command
	out := &output{to: stdout}
	a := &app{registry: r, stdout: out, stderr: stderr, terminal: terminal, args: args}
	type exited int
	defer func() { // kong ends the process after --help by calling Exit
		if x := recover(); x != nil {
			e, ok := x.(exited)
			if !ok {
				panic(x)
			}
			code = int(e)
		}
	}()
	parser, err := kong.New(&c, kong.Name("weir"), kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { panic(exited(n)) }),
		kong.Description("Network-assisted congestion control, simulated: HPCC++, NCF, P4TE, P4-ABC and what they are "+
			"compared with."),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 80}))
	if err != nil {
		fmt.Fprintln(stderr, "weir:", err)
		return WrongInput
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if err == nil {
		err = ctx.Run(a)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("standard output: %w", out.err)
	}
	if err != nil {
		fmt.Fprintln(stderr, "weir:", err)
		var input document.InputErrors
		var parse *kong.ParseError
		if errors.As(err, &input) || errors.As(err, &parse) || errors.Is(err, errInput) {
			return WrongInput
		}
		return RunFailed
	}
	return a.code
}

// output is standard output, which may be a file on a full disk: it keeps the first
// error.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

var errInput = errors.New("wrong input")

type listCmd struct {
	What string `arg:"" optional:"" enum:"experiments,schemes,measures,workloads,topologies" default:"experiments" help:"experiments, schemes, measures, workloads or topologies."`
}

func (l *listCmd) Run(a *app) error {
	switch l.What {
	case "experiments":
		for _, e := range a.registry.Experiments() {
			fmt.Fprintf(a.stdout, "%-24s %s\n", e.Name, report.Wrap(e.Title, report.Width-25, strings.Repeat(" ", 25)))
		}
	case "schemes":
		for _, k := range a.schemes() {
			fmt.Fprintf(a.stdout, "%-10s %-13s %s\n", k.kind, k.s.Name, report.Wrap(k.s.Doc, report.Width-25,
				strings.Repeat(" ", 25)))
		}
	case "measures":
		for _, m := range experiment.Measures() {
			fmt.Fprintf(a.stdout, "%-16s %s\n", m[0], report.Wrap(m[1], report.Width-17, strings.Repeat(" ", 17)))
		}
	case "workloads":
		fmt.Fprintf(a.stdout, "%-24s %s\n%-24s %s\n", "transport: udp, rate: …",
			"constant rate, bursts, Poisson, on/off (weir show udp)",
			"file: …, format: hpcc", "flow list of the HPCC simulator")
		for _, w := range [][2]string{
			{"file: …, format: htsim", "connection matrix (.cm) of htsim, with time_unit"},
			{"to: random", "another host for every flow"}, {"to: permutation", "every host sends to one and hears from one"},
			{"to: {stride: 8}", "the host eight further on"}, {"from: {random: 60}", "so many hosts begin together: an incast"},
			{"load: 50%", "arrivals that offer this share of links"},
			{"collective: ring", "all-reduce of hosts, in a ring or as a tree"},
		} {
			fmt.Fprintf(a.stdout, "%-24s %s\n", w[0], w[1])
		}
		for i := range workload.Distributions {
			d := &workload.Distributions[i]
			fmt.Fprintf(a.stdout, "%-24s flow sizes, mean %.0f bytes\n", "sizes: "+d.Name, d.Mean())
		}
	case "topologies":
		fmt.Fprintf(a.stdout, "%-24s %s\n%-24s %s\n", "hosts, switches, links", "written out in the experiment",
			"file: …, format: hpcc", "topology of the HPCC simulator")
		fmt.Fprintf(a.stdout, "%-24s %s\n", "file: …, format: htsim", ".topo file of htsim")
		for _, s := range a.registry.Topologies {
			fmt.Fprintf(a.stdout, "%-24s %s\n", s.Name+": {…}", report.Wrap(s.Doc+" (weir show "+s.Name+")", report.Width-25,
				strings.Repeat(" ", 25)))
		}
	}
	return nil
}

type kindOf struct {
	kind string
	s    scheme.Scheme
}

// schemes lists all that can be named, sorted.
func (a *app) schemes() []kindOf {
	var out []kindOf
	for _, s := range a.registry.Programs {
		out = append(out, kindOf{"program", s.Scheme})
	}
	for _, s := range a.registry.Schedulers {
		out = append(out, kindOf{"scheduler", s.Scheme})
	}
	for _, s := range a.registry.Transports {
		out = append(out, kindOf{"transport", s.Scheme})
	}
	for _, s := range a.registry.Controllers {
		out = append(out, kindOf{"cc", s.Scheme})
	}
	for _, s := range a.registry.Topologies {
		out = append(out, kindOf{"topology", s.Scheme})
	}
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].kind < out[j].kind || out[i].kind == out[j].kind && out[i].s.Name < out[j].s.Name
	})
	return out
}

// selection is what names an experiment and changes it.
type selection struct {
	Name  string   `arg:"" help:"An experiment of the library (weir list) or a file."`
	Set   []string `name:"set" sep:"none" placeholder:"KEY=VALUE" help:"Change the spec: duration=300s, traffic.client1.rate=20Mbps; a sweep key is fixed to a value."`
	Seed  *uint64  `help:"First seed instead of the spec's."`
	Quick bool     `help:"The spec's quick variant: every scheme and the ends of every sweep."`
}

func (s *selection) load(a *app) (*experiment.Spec, error) {
	src, err := a.registry.Open(s.Name)
	if err != nil {
		return nil, err
	}
	spec, err := experiment.Load(a.registry, src, experiment.Options{Set: s.Set, Seed: s.Seed, Quick: s.Quick})
	if err != nil {
		return nil, err
	}
	for _, w := range spec.Warnings {
		fmt.Fprintln(a.stderr, "warning:", w)
	}
	return spec, nil
}

type showCmd struct {
	selection
	YAML      bool   `name:"yaml" help:"Print the experiment's file as it is, to copy and change."`
	Footprint bool   `help:"What the programs take of a switch's pipeline, and what such a pipeline cannot do."`
	Topology  string `placeholder:"NETWORK" help:"With --footprint of a program: the network, as an experiment has it."`
	JSON      bool   `name:"json" help:"With --footprint: one JSON document instead of tables."`
}

func (s *showCmd) Run(a *app) error {
	switch {
	case s.Footprint:
		return s.footprint(a)
	case s.Topology != "" || s.JSON:
		return fmt.Errorf("%w: --topology and --json are for --footprint", errInput)
	}
	if s.YAML {
		return s.file(a)
	}
	shown := false
	for _, k := range a.schemes() {
		if k.s.Name != s.Name {
			continue
		}
		if shown {
			fmt.Fprintln(a.stdout)
		}
		a.showScheme(k)
		shown = true
	}
	if shown {
		return nil
	}
	spec, err := s.load(a)
	var wrong document.InputErrors
	if errors.As(err, &wrong) && len(wrong) == 1 && wrong[0].File == s.Name &&
		!strings.Contains(wrong[0].Msg, "did you mean") {
		var names []string
		for _, k := range a.schemes() {
			names = append(names, k.s.Name)
		}
		if n := document.Nearest(s.Name, names); n != "" {
			wrong[0].Msg += fmt.Sprintf("; did you mean the scheme %q?", n)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s\n%s", spec.Name, spec.Title)
	if p := spec.Paper.String(); p != "" {
		fmt.Fprintf(a.stdout, " (%s)", p)
	}
	fmt.Fprintf(a.stdout, "\n%d runs", len(spec.Runs()))
	if spec.LabRepeat != spec.Repeat {
		fmt.Fprintf(a.stdout, ", %d in the lab", len(spec.RunsOn(experiment.Lab)))
	}
	fmt.Fprint(a.stdout, "\n\n")
	rows := [][]string{{"parameter", "value", "source"}}
	for _, p := range spec.Parameters() {
		rows = append(rows, []string{p.Path, p.Value, p.Source})
	}
	fmt.Fprint(a.stdout, grid(rows))
	if text := report.PaperValues(spec); text != "" {
		fmt.Fprintf(a.stdout, "\nthe paper's own values\n%s", text)
	}
	return nil
}

func (s *showCmd) file(a *app) error {
	if len(s.Set) > 0 || s.Seed != nil || s.Quick {
		return fmt.Errorf("%w: --yaml prints the file as it is; with options applied it is spec.yaml in the results folder",
			errInput)
	}
	for _, k := range a.schemes() {
		if k.s.Name == s.Name {
			return fmt.Errorf("%w: %s is a scheme (%s), which has no file; --yaml is for experiments", errInput, s.Name, k.kind)
		}
	}
	src, err := a.registry.Open(s.Name)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(src.Data)
	return err
}

func (a *app) showScheme(k kindOf) {
	fmt.Fprintf(a.stdout, "%s\nsource: %s\n\n", report.Wrap(k.kind+" "+k.s.Name+": "+k.s.Doc, report.Width, "    "),
		k.s.Source)
	params := k.s.Parameters()
	if len(params) == 0 {
		fmt.Fprintln(a.stdout, "It has no parameters.")
		return
	}
	for _, p := range params {
		value := "default " + p.Default
		switch {
		case p.Required:
			value = "required"
		case p.Default == "":
			value = "default: none"
		}
		if len(p.Words) > 0 {
			value += "; one of " + strings.Join(p.Words, ", ")
		}
		if p.Min != "" {
			value += "; at least " + p.Min
		}
		if p.Max != "" {
			value += "; at most " + p.Max
		}
		fmt.Fprintf(a.stdout, "%s\n    %s\n    %s\n    source: %s\n", p.Name, report.Wrap(p.Doc, report.Width-4, "    "),
			report.Wrap(value, report.Width-4, "    "), p.Source)
	}
}

// grid prints three columns within 80: the last ones are wrapped.
func grid(rows [][]string) string {
	first, second := 0, 0
	for _, r := range rows {
		first, second = max(first, len([]rune(r[0]))), max(second, len([]rune(r[1])))
	}
	first, second = min(first, 34), min(second, 20)
	third := report.Width - first - second - 4
	var b strings.Builder
	for _, r := range rows {
		cells := [][]string{fold(r[0], first), fold(r[1], second), fold(r[2], third)}
		for i := range max(len(cells[0]), len(cells[1]), len(cells[2])) {
			var line [3]string
			for c := range cells {
				if i < len(cells[c]) {
					line[c] = cells[c][i]
				}
			}
			b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", first, line[0], second, line[1], line[2]), " ") + "\n")
		}
	}
	return b.String()
}

// fold breaks text after spaces, else after a dot, or anywhere if there are none, so
// that no line is wider.
func fold(s string, width int) []string {
	var lines []string
	for _, l := range strings.Split(report.Wrap(s, width, ""), "\n") {
		r := []rune(l)
		for len(r) > width {
			at := width
			if dot := strings.LastIndexByte(string(r[:width]), '.'); dot >= 0 {
				at = utf8.RuneCountInString(string(r[:width])[:dot+1])
			}
			lines = append(lines, string(r[:at]))
			r = r[at:]
		}
		lines = append(lines, string(r))
	}
	return lines
}

type checkCmd struct {
	selection
	On string `enum:"sim,lab" default:"sim" help:"World to check it for: sim, or lab: what this machine's kernel lacks, and whether it is too large."`
}

// hopsPerSecond is what an estimate of time assumes of one core: the order of
// magnitude that `weir bench engine` shows.
const hopsPerSecond = 3e6

func (c *checkCmd) Run(a *app) error {
	spec, err := c.load(a)
	if err != nil {
		return err
	}
	if c.On == experiment.Lab {
		return a.checkLab(spec)
	}
	runs := spec.Runs()
	rows := [][]string{{"point", "seed", "packet-hops, time, memory (estimate)"}}
	total, most := 0.0, 0.0
	for _, r := range runs {
		hops, memory := experiment.Estimate(r), experiment.EstimateMemory(r)
		total, most = total+hops, max(most, memory)
		rows = append(rows, []string{experiment.PointName(r.Point), fmt.Sprint(r.Seed), fmt.Sprintf("%s, %s, %s",
			experiment.SI(hops), took(hops/hopsPerSecond), report.Bytes(int64(roundUp(memory))))})
	}
	fmt.Fprint(a.stdout, grid(rows))
	jobs := min(runtime.GOMAXPROCS(0), len(runs))
	fmt.Fprintf(a.stdout, "\n%s\n",
		report.Wrap(fmt.Sprintf("%s is valid: %d runs, about %s packet-hops, %s on one core, and up to %s of memory a run "+
			"(%d at a time here)",
			spec.Name, len(runs), experiment.SI(total), took(total/hopsPerSecond), report.Bytes(int64(roundUp(most))), jobs),
			report.Width, ""))
	return nil
}

// roundUp leaves two digits of an estimate.
func roundUp(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(v, 1)))-1)
	return math.Ceil(v/unit) * unit
}

func took(seconds float64) string {
	switch {
	case seconds < 1:
		return "under 1 s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}

type runCmd struct {
	selection
	On    string `enum:"sim,lab" default:"sim" help:"World to run in: sim, or lab: real packets between this machine's own TCP stacks, and sim beside it."`
	Jobs  int    `help:"Runs at a time; 0 means one a core."`
	Out   string `default:"results" type:"path" help:"Folder that results go into."`
	Fresh bool   `help:"Run also what is finished already."`
	JSON  bool   `name:"json" help:"Print one JSON document instead of tables." xor:"format"`
	CSV   bool   `name:"csv" help:"Print one line of CSV a value instead of tables." xor:"format"`
	Check bool   `help:"Exit with 3 if a claim fails."`

	Trace []string `placeholder:"PORT" help:"Ports (s1->server, or a pattern with *) whose packets are traced in every run, into traces/ of the results folder: pcapng, Parquet and text."`

	labFlags
}

func (r *runCmd) Run(a *app) error {
	spec, err := r.load(a)
	if err != nil {
		return err
	}
	if r.Jobs < 0 {
		return fmt.Errorf("%w: --jobs is %d; 0 or more is allowed", errInput, r.Jobs)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bar := &progressBar{out: a.stderr, on: a.terminal, start: time.Now()}
	options := experiment.ExecOptions{
		Jobs: r.Jobs, Dir: r.Out, Fresh: r.Fresh, Executable: executableHash(), OnProgress: bar.show, Trace: r.Trace,
		Command: reproduce(spec, r.Name, a.args),
	}
	var o *experiment.Outcome
	if r.On == experiment.Lab {
		o, err = r.lab(ctx, a, spec, options, bar)
	} else if err = r.labFlags.unused(); err == nil {
		o, err = experiment.Execute(ctx, spec, options)
	}
	bar.clear()
	interrupted := ctx.Err() != nil
	stop()
	if err != nil {
		return err
	}
	path, err := report.Write(o, report.Page{Version: version()})
	if err != nil {
		return fmt.Errorf("%w; %s", err, o.Kept())
	}
	switch {
	case r.JSON:
		a.stdout.Write(o.JSON())
	case r.CSV:
		if err := o.CSV(a.stdout); err != nil {
			return err
		}
	default:
		a.tables(o, path)
	}
	a.code = exitCode(o, interrupted, r.Check)
	if interrupted {
		fmt.Fprintf(a.stderr, "interrupted: %s\n", o.Kept())
	}
	return nil
}

// folders finds results: of a folder, of its report, or of an experiment as weir run
// was given it without options.
type folders struct {
	Out string `default:"results" type:"path" help:"Folder in which results of experiments are looked for."`
}

func (f *folders) open(a *app, name string) (*experiment.Outcome, error) {
	dir := name
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() && filepath.Base(name) == "report.html" {
		dir = filepath.Dir(name)
	} else if err != nil || !info.IsDir() {
		src, err := a.registry.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s is no results folder; as an experiment: %w", name, err)
		}
		spec, err := experiment.Load(a.registry, src, experiment.Options{})
		if err != nil {
			return nil, err
		}
		dir = spec.Folder(f.Out, experiment.Sim)
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("%w: %s has no results in %s/ as it is now: run it, or name a folder", errInput, name,
				filepath.Base(f.Out))
		}
	}
	dir, err = filepath.Abs(dir) // run prints whole paths too
	if err != nil {
		return nil, err
	}
	return experiment.Reopen(a.registry, dir)
}

type reportCmd struct {
	folders
	Dirs []string `arg:"" name:"dir" help:"Results folders, as weir run leaves them, or experiments that were run."`
	JSON bool     `name:"json" help:"Print one JSON document each instead of tables." xor:"format"`
	CSV  bool     `name:"csv" help:"Print one line of CSV a value instead of tables." xor:"format"`
}

func (r *reportCmd) Run(a *app) error {
	for i, dir := range r.Dirs {
		o, err := r.open(a, dir)
		if err != nil {
			return err
		}
		path, err := report.Write(o, report.Page{Version: version()})
		if err != nil {
			return err
		}
		switch {
		case r.JSON:
			a.stdout.Write(o.JSON())
		case r.CSV:
			if err := o.CSV(a.stdout); err != nil {
				return err
			}
		default:
			if i > 0 {
				fmt.Fprintln(a.stdout)
			}
			o.Found = 0 // it is no news here
			a.tables(o, path)
		}
	}
	return nil
}

type diffCmd struct {
	folders
	A string `arg:"" help:"Results folder, or an experiment that was run."`
	B string `arg:"" help:"Another one."`
}

func (d *diffCmd) Run(a *app) error {
	x, err := d.open(a, d.A)
	if err != nil {
		return err
	}
	y, err := d.open(a, d.B)
	if err != nil {
		return err
	}
	fmt.Fprint(a.stdout, report.Diff(x, y))
	return nil
}

type schemaCmd struct{}

func (schemaCmd) Run(a *app) error {
	_, err := a.stdout.Write(a.registry.Schema())
	return err
}

func (a *app) tables(o *experiment.Outcome, path string) {
	fmt.Fprint(a.stdout, report.Text(o))
	if o.Traces > 0 {
		fmt.Fprintf(a.stdout, "%d of the runs have left a trace in %s\n", o.Traces, filepath.Join(o.Dir, "traces"))
	}
	if o.Untraced > 0 {
		fmt.Fprintf(a.stdout, "%d of the runs lack the trace; the same command goes on with them\n", o.Untraced)
	}
	if o.Found > 0 {
		fmt.Fprintf(a.stdout, "%d of the runs were there already (--fresh runs them again)\n", o.Found)
	}
	fmt.Fprintln(a.stdout, path)
}

func exitCode(o *experiment.Outcome, interrupted, check bool) int {
	cut := len(o.Failed) > 0 || o.Missing > 0
	for _, r := range o.Runs {
		cut = cut || r.End.Stuck()
		if n := len(r.Attempts); n > 0 && len(r.Attempts[n-1].Errors) > 0 {
			cut = true // no measurement
		}
	}
	switch {
	case interrupted:
		return Interrupted
	case cut:
		return RunFailed
	}
	if check {
		for _, c := range o.Claims {
			if c.Verdict == experiment.Fails {
				return ClaimFailed
			}
		}
		if _, _, enough := experiment.Agree(o.Agreements()); !enough {
			return ClaimFailed
		}
	}
	return Done
}

// reproduce is the command that gives the same report: the experiment and all
// that changes it, but not what only changes how it runs. A file stands without
// its folders: results say nothing of the machine.
func reproduce(spec *experiment.Spec, name string, args []string) string {
	if name != spec.Name { // not one of the library
		name = filepath.Base(name)
	}
	words := []string{"weir", "run", quoted(name)}
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch name {
		case "--set", "--seed", "--on", "--generator":
			words = append(words, quoted(args[i]))
			if !joined && i+1 < len(args) {
				i++
				words = append(words, quoted(args[i]))
			}
		case "--quick":
			words = append(words, args[i])
		}
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell needs it.
func quoted(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
			strings.ContainsRune("-_./=:,+%@", r))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// progressBar is one line on a terminal.
type progressBar struct {
	out   io.Writer
	on    bool
	start time.Time
	last  time.Time
	shown bool
	begun bool
	found int // runs that were there before
}

func (b *progressBar) show(p experiment.Progress) {
	if !b.begun {
		b.begun, b.found = true, p.Done
	}
	if now := time.Now(); !b.on || now.Sub(b.last) < 100*time.Millisecond {
		return
	} else {
		b.last = now
	}
	const width = 24
	full := int(p.Share * width)
	left := ""
	if p.Share > 0.01 {
		elapsed := b.last.Sub(b.start).Seconds()
		left = fmt.Sprintf("  %.1f runs/s  %.0f s left", p.Share*float64(p.Runs-b.found)/elapsed, elapsed*(1-p.Share)/p.Share)
	}
	fmt.Fprintf(b.out, "\r\x1b[K[%s%s] %3.0f %%  %d of %d runs%s", strings.Repeat("#", full),
		strings.Repeat(".", width-full), 100*p.Share, p.Done, p.Runs, left)
	b.shown = true
}

func (b *progressBar) clear() {
	if b.shown {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// executableHash is the SHA-256 of this program's file or, where that cannot be
// read, of what it knows of its build.
func executableHash() string {
	path, err := os.Executable()
	if err == nil {
		if f, err := os.Open(path); err == nil {
			defer f.Close()
			h := sha256.New()
			if _, err := io.Copy(h, f); err == nil {
				return hex.EncodeToString(h.Sum(nil))
			}
		}
	}
	build := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.String()
	}
	h := sha256.Sum256([]byte(build))
	return hex.EncodeToString(h[:])
}

// version is the module's version or its revision.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "development"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v + " " + info.GoVersion
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	fmt.Fprintln(a.stdout, "weir", version())
	return nil
}
