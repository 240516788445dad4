//go:build system || slow

package jetstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"weir/internal/revision"
	"weir/internal/testkit/await"
	"weir/study/run"
)

// A test runs its own binary again as the processes that it kills. These variables name the role and its settings.
const (
	roleVariable     = "WEIR_JETSTREAM_ROLE"
	settingsVariable = "WEIR_JETSTREAM_SETTINGS"
)

// settings are the configuration of a process of a sweep.
type settings struct {
	Name    string // of a worker
	Dir     string // of the results, or of the server's files
	Address string // of the server
	Join    string // file; "": the server at the address accepts every client
	Runs    int
	Own     bool // the coordinator has a server of its own, at the address
}

// server returns how to join the server.
func (s *settings) server() (*Join, error) {
	if s.Join == "" {
		return &Join{Address: "nats://" + s.Address}, nil
	}
	return ReadJoin(s.Join)
}

// TestMain runs a role instead of the tests if the environment names one. The process ends with the test's.
func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// play runs a role until its end. Standard input is the line to the test.
func play(role string) error {
	var s settings
	if err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &s); err != nil {
		return err
	}
	notice := func(text string) { fmt.Println("notice:", text) }
	if role == "coordinator" {
		return s.coordinate(notice)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(9)
	}()
	switch role {
	case "server":
		server, err := serve(s.Address, s.Dir, nil, "")
		if err != nil {
			return err
		}
		defer server.stop()
		select {}
	case "worker":
		j, err := s.server()
		if err != nil {
			return err
		}
		w := Worker{Registry: registry(), Revision: revision.This(), Name: s.Name, Jobs: 1, OnNotice: notice}
		return w.ExecuteRuns(context.Background(), j)
	}
	return fmt.Errorf("no role %q", role)
}

// coordinate runs a sweep. Results are kept only up to a number that the test raises.
func (s *settings) coordinate(notice func(string)) error {
	c := Config{Registry: registry(), Revision: revision.This(), Jobs: -1, OnNotice: notice}
	if s.Own {
		c.Listen = s.Address
	} else {
		var err error
		if c.Server, err = s.server(); err != nil {
			return err
		}
	}
	x := &gated{Coordinator: New(c), kept: files(s.Dir)}
	x.raised = sync.NewCond(&x.lock)
	go x.readLimits(os.Stdin)
	spec, err := loadSweep(s.Runs)
	if err != nil {
		return err
	}
	o, err := run.Execute(context.Background(), spec, run.Options{Dir: s.Dir, Executable: executable, Runner: x})
	if err == nil && o.Missing+len(o.Failed) > 0 {
		err = fmt.Errorf("%d missing, failed %v", o.Missing, o.Failed)
	}
	fmt.Println("notice:", x.Status())
	return err
}

// gated is a coordinator that hands its results over until a given number of runs is kept.
type gated struct {
	*Coordinator
	lock        sync.Mutex
	raised      *sync.Cond
	kept, limit int
}

// ExecuteRun returns a result when the limit permits it.
func (g *gated) ExecuteRun(ctx context.Context, task run.Task, far func(uint64, float64)) ([]byte, error) {
	data, err := g.Coordinator.ExecuteRun(ctx, task, far)
	g.lock.Lock()
	defer g.lock.Unlock()
	for g.kept >= g.limit {
		g.raised.Wait()
	}
	g.kept++
	return data, err
}

// readLimits reads limits, one a line, until the test ends.
func (g *gated) readLimits(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		n, _ := strconv.Atoi(lines.Text())
		g.lock.Lock()
		g.limit = n
		g.raised.Broadcast()
		g.lock.Unlock()
	}
	os.Exit(9)
}

// actor is a process of a sweep, which is killed and restarted.
type actor struct {
	t    *testing.T
	role string
	with settings

	process *await.Process
	input   io.WriteCloser
}

// start starts the process.
func (a *actor) start() {
	a.t.Helper()
	with, err := json.Marshal(a.with)
	if err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+a.role, settingsVariable+"="+string(with), "GOMAXPROCS=1")
	if a.input, err = cmd.StdinPipe(); err != nil {
		a.t.Fatal(err)
	}
	a.process = await.Start(a.t, cmd)
}

// kill kills the process and waits for its end.
func (a *actor) kill() {
	a.t.Helper()
	if !a.process.IsRunning() {
		a.t.Fatalf("the %s %s has ended:\n%s", a.role, a.with.Name, a.process.Output())
	}
	a.process.Kill()
	a.input.Close()
}

// freeAddress returns an address of loopback at which no process listens. Its host is this process's own, so that no
// other process is given the port while the server is down.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	host := fmt.Sprintf("127.%d.%d.%d", 1+pid>>16&0x7f, pid>>8&0xff, 1+pid&0x7f)
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("the addresses of 127.0.0.0/8 are not this machine's: %v", err)
	}
	defer l.Close()
	return l.Addr().String()
}

// files counts the runs that are kept.
func files(dir string) int {
	all, _ := filepath.Glob(filepath.Join(dir, "*", "runs", "*.json"))
	return len(all)
}

// drama is a sweep whose parts are separate processes.
type drama struct {
	t           *testing.T
	dir         string
	coordinator *actor
	server      *actor // nil: the coordinator has it
	workers     []*actor
}

// newDrama starts a sweep; own: the coordinator has the server.
func newDrama(t *testing.T, runs, workers int, own bool) *drama {
	x := &drama{t: t, dir: t.TempDir()}
	address := freeAddress(t)
	start := func(role string, with settings) *actor {
		with.Address = address
		a := &actor{t: t, role: role, with: with}
		a.start()
		return a
	}
	if !own {
		x.server = start("server", settings{Dir: t.TempDir()})
	}
	x.coordinator = start("coordinator", settings{Dir: x.dir, Runs: runs, Own: own})
	join := ""
	if own {
		join = filepath.Join(t.TempDir(), "join.json") // the queue is removed at the end
		x.coordinator.process.AwaitCondition("a file to join with", func() bool {
			all, _ := filepath.Glob(filepath.Join(x.dir, "*", "queue", "join.json"))
			if len(all) != 1 {
				return false
			}
			data, err := os.ReadFile(all[0])
			return err == nil && os.WriteFile(join, data, 0o600) == nil
		})
	}
	for i := range workers {
		x.workers = append(x.workers, start("worker", settings{Name: fmt.Sprintf("w%d", i), Join: join}))
	}
	return x
}

// keepUpTo lets the coordinator keep results up to a number of runs, and waits until they are there.
func (x *drama) keepUpTo(runs int) {
	x.t.Helper()
	fmt.Fprintln(x.coordinator.input, runs)
	x.coordinator.process.AwaitCondition(fmt.Sprintf("%d runs", runs), func() bool { return files(x.dir) >= runs })
}

// killAll kills each kind of process a number of times. Kill k of n happens when exactly k/(n+1) of the runs are
// kept, in a random order of kinds.
func (x *drama) killAll(runs, kills int, draw *rand.Rand) {
	x.t.Helper()
	var victims []string
	for range kills {
		victims = append(victims, "worker", "coordinator")
		if x.server != nil {
			victims = append(victims, "server")
		}
	}
	draw.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for n, kind := range victims {
		at := runs * (n + 1) / (len(victims) + 1)
		x.keepUpTo(at)
		if now := files(x.dir); now != at {
			x.t.Fatalf("%d runs are kept, want %d", now, at)
		}
		a := map[string]*actor{"coordinator": x.coordinator, "server": x.server}[kind]
		if a == nil {
			a = x.workers[draw.IntN(len(x.workers))]
		}
		x.t.Logf("the %s is killed with %d runs", kind, at)
		a.kill()
		a.start()
	}
}

// finish waits for the coordinator's end, and compares the files with one machine's.
func (x *drama) finish(runs int, want map[string]string) {
	x.t.Helper()
	fmt.Fprintln(x.coordinator.input, runs)
	if code := x.coordinator.process.AwaitExit(); code != 0 {
		x.t.Errorf("the coordinator ended with %d\n%s", code, x.coordinator.process.Output())
	}
	(&party{t: x.t, dir: x.dir}).same(want)
	for _, a := range append([]*actor{x.coordinator}, x.workers...) {
		x.t.Logf("%s %s:\n%s", a.role, a.with.Name, strings.TrimSpace(a.process.Output()))
	}
}

// killed runs a sweep whose processes are all killed.
func killed(t *testing.T, seed uint64, runs, workers, kills int, own bool) {
	t.Helper()
	want := here(t, sweepOf(t, runs))
	x := newDrama(t, runs, workers, own)
	x.killAll(runs, kills, rand.New(rand.NewPCG(seed, 0)))
	x.finish(runs, want)
}
