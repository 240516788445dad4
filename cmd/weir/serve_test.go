package main

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// locked is a buffer that a process writes into while it is read.
type locked struct {
	sync.Mutex
	b bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.Lock()
	defer l.Unlock()
	return l.b.String()
}

// The server prints an address with the token, starts runs for who has it, and keeps what is finished when it is ended.
func TestServe(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results")
	var said locked
	c := &child{Cmd: exec.Command(build(t), "serve", "--out", out, "--listen", "127.0.0.1:0")}
	c.Stdout, c.Stderr = &said, &c.stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	var at *url.URL
	c.await(t, "an address", func() bool {
		line, _, whole := strings.Cut(said.String(), "\n")
		if whole {
			at, _ = url.Parse(line)
		}
		return whole
	})
	token := at.Query().Get("token")
	at.RawQuery = ""
	if at.Scheme != "http" || at.Hostname() != "127.0.0.1" || len(token) < 26 {
		t.Errorf("the address is %s with a token of %d characters", at, len(token))
	}
	ask := func(method, path, with string, form url.Values) (int, string) {
		r, err := http.NewRequest(method, at.JoinPath(path).String(), strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Authorization", "Bearer "+with)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(body)
	}
	if code, _ := ask(http.MethodGet, "/", "guessed", nil); code != http.StatusUnauthorized {
		t.Errorf("without the token it says %d", code)
	}
	code, body := ask(http.MethodPost, "/experiments/p4abc/fig5/run", token, url.Values{"quick": {"1"},
		"key": {"duration"}, "value": {"90s"}})
	if code != http.StatusOK || !strings.Contains(body, "weir run p4abc/fig5 --quick --set duration=90s") {
		t.Fatalf("it says %d\n%s", code, body)
	}
	finished := func() int {
		runs, _ := filepath.Glob(filepath.Join(out, "*", "runs", "*.json"))
		return len(runs)
	}
	c.await(t, "a finished run", func() bool { return finished() > 0 })
	begun := time.Now()
	c.Process.Signal(syscall.SIGINT)
	if err := c.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, said.String())
	}
	t.Logf("it ends within %v, with %d runs", time.Since(begun), finished())
	if whole, _ := filepath.Glob(filepath.Join(out, "*", "runs.json")); len(whole) != 1 || finished() == 4 {
		t.Errorf("it leaves %v, and %d runs", whole, finished())
	}
}
