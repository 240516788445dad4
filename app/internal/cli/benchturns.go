package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"weir/internal/atomicfile"
	"weir/internal/command"
	"weir/study/bench"
)

// turnFigures are the results of a benchmark that consists of turns.
type turnFigures interface {
	figures
	Markdown() string
}

// runTurns runs the benchmarks scale and threads, each turn in a process of its own, and peers. It prints the figures
// and writes them into the page of --docs. With --turn it runs one turn in this process. An interrupt is an error.
func (b *benchCmd) runTurns(a *app) error {
	if b.Turn != "" {
		return b.runTurn(a)
	}
	if b.Time != 0 || b.Profile != "" {
		return fmt.Errorf("%w: --time and --profile do not apply to this benchmark; only switch and clock accept them",
			command.ErrInput)
	}
	hosts := b.Hosts
	if hosts == nil {
		hosts = bench.ListHosts()
		hosts = hosts[:len(hosts)-1]
	}
	for _, h := range hosts {
		s := bench.TurnSpec{Load: bench.Permutation, Hosts: h, Threads: 1}
		if err := s.Check(); err != nil {
			return fmt.Errorf("%w: --hosts: %w", command.ErrInput, err)
		}
	}
	if b.Threads == 0 {
		b.Threads = runtime.GOMAXPROCS(0)
	}
	if b.Threads < 2 && b.What == "threads" {
		return fmt.Errorf("%w: --threads is %d; 2 or more is allowed, for comparison with 1", command.ErrInput, b.Threads)
	}
	if b.Docs != "" {
		if _, _, err := bench.SplitPage(b.Docs, b.What); err != nil {
			return fmt.Errorf("%w: --docs: %w", command.ErrInput, err)
		}
	}
	o := bench.TurnOptions{Rounds: b.Runs, RunTurn: anotherTurn(b.What)}
	if o.Rounds == 0 {
		o.Rounds = bench.Rounds
	}
	var done func()
	o.Progress, done = a.showActivity()
	signals := handleSignals(a.screen, inSimulation)
	defer signals.stop()
	var f turnFigures
	var err error
	switch b.What {
	case "scale":
		f, err = bench.Scale(signals, hosts, o)
	case "threads":
		f, err = bench.Threads(signals, b.Threads, o)
	default:
		if b.Runs == 0 {
			o.Rounds = 3
		}
		f, err = bench.Peers(signals, a.registry, 8, o)
	}
	done()
	if signals.Err() != nil {
		return errors.New("interrupted: no results are printed, because the measurement is incomplete")
	}
	if err != nil {
		return err
	}
	b.printFigures(a, f)
	return b.writeFigures(f)
}

// writeFigures writes figures into the page that --docs names, and the plots of scale next to it. Without --docs it has
// no effect.
func (b *benchCmd) writeFigures(f turnFigures) error {
	if b.Docs == "" {
		return nil
	}
	page := f.Markdown()
	if s, ok := f.(*bench.ScaleFigures); ok {
		speed, memory, err := s.SVG()
		if err != nil {
			return err
		}
		for name, data := range map[string][]byte{"scale-speed.svg": speed, "scale-memory.svg": memory} {
			if err := atomicfile.Write(filepath.Join(filepath.Dir(b.Docs), name), data); err != nil {
				return err
			}
		}
		page += "\n![CPU time per packet-hop](scale-speed.svg)\n![peak memory per host](scale-memory.svg)\n"
	}
	return bench.ReplaceText(b.Docs, b.What, page)
}

// benchMeters returns the meters of turns.
var benchMeters = bench.MachineMeters

// runTurn runs one turn in this process and prints it as JSON.
func (b *benchCmd) runTurn(a *app) error {
	var s bench.TurnSpec
	if err := json.Unmarshal([]byte(b.Turn), &s); err != nil {
		return fmt.Errorf("%w: --turn: %w", command.ErrInput, err)
	}
	t, err := bench.RunTurn(a.registry, s, benchMeters())
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(t)
}

// anotherTurn returns a function that runs a turn of the benchmark in another process of this program.
func anotherTurn(benchmark string) func(ctx context.Context, s bench.TurnSpec) (*bench.Turn, error) {
	return func(ctx context.Context, s bench.TurnSpec) (*bench.Turn, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		spec, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		c := exec.CommandContext(ctx, self, "bench", benchmark, "--turn", string(spec))
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		if err := c.Run(); err != nil {
			return nil, fmt.Errorf("measurement with %d hosts: %w: %s", s.Hosts, err, strings.TrimSpace(errs.String()))
		}
		var t bench.Turn
		return &t, json.Unmarshal(out.Bytes(), &t)
	}
}
