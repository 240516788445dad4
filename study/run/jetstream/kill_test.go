package jetstream

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/internal/revision"
	"weir/study/run"
)

// A test runs its own binary again as what it kills: these variables say as what, and with what.
const (
	roleVariable = "WEIR_JETSTREAM_ROLE"
	withVariable = "WEIR_JETSTREAM_WITH"
)

// part is what one who takes part in a sweep has to know.
type part struct {
	Name    string // of a worker
	Dir     string // of the results, or of the server's files
	Address string // of the server
	Join    string // file; "": the server at the address lets all in
	Runs    int
	Own     bool // the coordinator has a server of its own, at the address
}

// server is how it is reached.
func (p *part) server(t *testing.T) *Join {
	if p.Join == "" {
		return &Join{Address: "nats://" + p.Address}
	}
	j, err := ReadJoin(p.Join)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestRole is what the other processes of these tests are. It ends with the process that has begun it.
func TestRole(t *testing.T) {
	role := os.Getenv(roleVariable)
	if role == "" {
		return // it is no such process
	}
	var p part
	if err := json.Unmarshal([]byte(os.Getenv(withVariable)), &p); err != nil {
		t.Fatal(err)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin) // it ends when the parent does
		os.Exit(9)
	}()
	tell := func(text string) { fmt.Println("notice:", text) }
	switch role {
	case "server":
		s, err := serve(p.Address, p.Dir, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		select {}
	case "worker":
		slow := func(data []byte) []byte { // so that kills come in the midst of runs
			time.Sleep(20 * time.Millisecond)
			return data
		}
		w := Worker{Registry: registry(), Revision: revision.This(), Name: p.Name, Jobs: 1, OnNotice: tell, change: slow}
		if err := w.Work(t.Context(), p.server(t)); err != nil {
			t.Fatal(err)
		}
	case "coordinator":
		c := Config{Registry: registry(), Revision: revision.This(), Jobs: -1, OnNotice: tell, patience: 2 * time.Second}
		if p.Own {
			c.Listen = p.Address
		} else {
			c.Server = p.server(t)
		}
		x := New(c)
		o, err := run.Execute(t.Context(), sweepOf(t, p.Runs), run.Options{Dir: p.Dir, Executable: executable, Runner: x})
		if err != nil || o.Missing > 0 || len(o.Failed) > 0 {
			t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
		}
		fmt.Println("notice:", x.Status())
	default:
		t.Fatalf("no role %q", role)
	}
}

// actor is a process that takes part, and is killed and begun again.
type actor struct {
	t    *testing.T
	role string
	with part

	lock  sync.Mutex
	cmd   *exec.Cmd
	input io.Closer
	ended chan error
}

// begin starts the process.
func (a *actor) begin() {
	with, err := json.Marshal(a.with)
	if err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestRole$", "-test.timeout", "20m")
	cmd.Env = append(os.Environ(), roleVariable+"="+a.role, withVariable+"="+string(with), "GOMAXPROCS=1")
	input, err := cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			a.t.Logf("%s %s %s: %s", time.Now().Format("05.000"), a.role, a.with.Name, lines.Text())
		}
		ended <- cmd.Wait()
	}()
	a.lock.Lock()
	defer a.lock.Unlock()
	a.cmd, a.input, a.ended = cmd, input, ended
}

// kill ends it at once, and waits until it is gone.
func (a *actor) kill() error {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.cmd.Process.Kill()
	err := <-a.ended
	a.input.Close()
	a.ended <- err
	return err
}

// freeAddress is one on loopback where nobody listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// files counts the runs that are kept.
func files(dir string) int {
	all, _ := filepath.Glob(filepath.Join(dir, "*", "runs", "*.json"))
	return len(all)
}

// drama is a sweep by processes of their own.
type drama struct {
	t           *testing.T
	dir         string
	coordinator *actor
	server      *actor // nil: the coordinator has it
	workers     []*actor
}

// newDrama begins a sweep of so many runs with so many workers; own: the coordinator has the server.
func newDrama(t *testing.T, runs, workers int, own bool) *drama {
	x := &drama{t: t, dir: t.TempDir()}
	address := freeAddress(t)
	actorOf := func(role string, with part) *actor {
		with.Address = address
		a := &actor{t: t, role: role, with: with}
		a.begin()
		t.Cleanup(func() { a.kill() })
		return a
	}
	if !own {
		x.server = actorOf("server", part{Dir: t.TempDir()})
	}
	x.coordinator = actorOf("coordinator", part{Dir: x.dir, Runs: runs, Own: own})
	join := ""
	if own {
		until(t, "a file to join with", func() bool {
			all, _ := filepath.Glob(filepath.Join(x.dir, "*", "queue", "join.json"))
			if len(all) == 1 {
				join = filepath.Join(t.TempDir(), "join.json") // the queue is taken away at the end
				data, err := os.ReadFile(all[0])
				return err == nil && os.WriteFile(join, data, 0o600) == nil
			}
			return false
		})
	}
	for i := range workers {
		x.workers = append(x.workers, actorOf("worker", part{Name: fmt.Sprintf("w%d", i), Join: join}))
	}
	return x
}

// killAll kills each kind of those who take part so often, in an order that is drawn, spread over the sweep's runs.
func (x *drama) killAll(runs, kills int, draw *rand.Rand) {
	var victims []string
	for range kills {
		victims = append(victims, "worker", "coordinator")
		if x.server != nil {
			victims = append(victims, "server")
		}
	}
	draw.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for n, kind := range victims {
		at := runs * (n + 1) / (2 * (len(victims) + 1)) // results come in bursts: the second half is for the last kill
		until(x.t, fmt.Sprintf("%d runs", at), func() bool { return files(x.dir) >= at })
		if x.t.Failed() {
			return
		}
		a := map[string]*actor{"coordinator": x.coordinator, "server": x.server}[kind]
		if a == nil {
			a = x.workers[draw.IntN(len(x.workers))]
		}
		x.t.Logf("%s the %s is killed, with %d runs", time.Now().Format("05.000"), kind, files(x.dir))
		if err := a.kill(); err == nil {
			x.t.Errorf("kill %d: the %s had ended", n, kind)
			return
		}
		time.Sleep(time.Duration(draw.IntN(300)) * time.Millisecond)
		a.begin()
	}
}

// finish waits for the coordinator's end, and holds what it has kept against one machine's.
func (x *drama) finish(want map[string]string) {
	x.t.Helper()
	select {
	case err := <-x.coordinator.ended:
		x.coordinator.ended <- err
		if err != nil {
			x.t.Errorf("the coordinator: %v", err)
		}
	case <-time.After(3 * time.Minute):
		x.t.Fatalf("the sweep hangs with %d runs", files(x.dir))
	}
	(&party{t: x.t, dir: x.dir}).same(want)
}

// killed is a sweep in which all are killed.
func killed(t *testing.T, runs, workers, kills int, own bool) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	want := here(t, sweepOf(t, runs))
	x := newDrama(t, runs, workers, own)
	x.killAll(runs, kills, rand.New(rand.NewPCG(seed, 0)))
	if !t.Failed() {
		x.finish(want)
	}
}

// Whoever of those who take part is killed, and whenever: nothing is lost, nothing is twice, nothing is wrong.
func TestKills(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own server %v", own), func(t *testing.T) { t.Parallel(); killed(t, 200, 3, 2, own) })
	}
}
