package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// driven is a headless Chromium that is told what to open, by the DevTools protocol over a pipe: messages are JSON,
// each with a zero byte behind it.
type driven struct {
	command *exec.Cmd // nil: no process belongs to it
	to      io.Writer
	from    *bufio.Reader
	ends    []io.Closer
	last    int
	session string
}

func startBrowser(ctx context.Context, program, profile string) (*driven, error) {
	read, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, read.Close(), to.Close())
	}
	arguments := []string{"--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-sync", "--disable-component-update", "--disable-dev-shm-usage",
		"--window-size=1280,900", "--user-data-dir=" + profile, "about:blank"}
	if os.Getuid() == 0 {
		arguments = append([]string{"--no-sandbox"}, arguments...) // root has none
	}
	c := exec.CommandContext(ctx, program, arguments...)
	c.ExtraFiles = []*os.File{read, write} // 3 and 4
	c.WaitDelay = 5 * time.Second
	b := &driven{command: c, to: to, from: bufio.NewReaderSize(from, 1<<16), ends: []io.Closer{to, from}}
	if err := c.Start(); err != nil {
		b.end()
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	if err := errors.Join(read.Close(), write.Close()); err != nil {
		b.end()
		return nil, err
	}
	if err := b.attach(); err != nil {
		b.end()
		return nil, err
	}
	return b, nil
}

// attach opens a page, and directs the calls that follow to it.
func (b *driven) attach() error {
	var target struct {
		ID string `json:"targetId"`
	}
	var attached struct {
		Session string `json:"sessionId"`
	}
	err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	if err == nil {
		err = b.call("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	}
	if b.session = attached.Session; err == nil {
		err = b.call("Page.enable", map[string]any{}, nil)
	}
	if err != nil {
		return fmt.Errorf("chromium does not respond as expected: %w", err)
	}
	return nil
}

// end ends the browser.
func (b *driven) end() {
	for _, f := range b.ends {
		f.Close()
	}
	if b.command != nil && b.command.Process != nil {
		b.command.Process.Kill()
		b.command.Wait()
	}
}

// answer is a message of the browser: what came of a call, or an event.
type answer struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (b *driven) next() (a answer, err error) {
	data, err := b.from.ReadBytes(0)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &a)
}

// call has the browser do something, and waits until it has.
func (b *driven) call(method string, params any, result any) error {
	b.last++
	message := map[string]any{"id": b.last, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		return err
	}
	for {
		a, err := b.next()
		switch {
		case err != nil:
			return err
		case a.ID != b.last: // an event
		case a.Error != nil:
			return errors.New(a.Error.Message)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(a.Result, result)
		}
	}
}

// painted is when a browser had what of a page [ms after it was asked for it].
type painted struct {
	Asked float64 // it has asked the server
	Begun float64 // the answer begins
	There float64 // all of it is there
	First float64 // something is painted
	Bytes float64 // of the answer, without its head
}

// paint opens a page, and returns when something was painted first, and what was before.
func (b *driven) paint(url string) (p painted, err error) {
	before, err := b.number("performance.timeOrigin") // of the page that is there yet
	if err == nil {
		err = b.call("Page.navigate", map[string]any{"url": url}, nil)
	}
	if err != nil {
		return p, err
	}
	done := fmt.Sprintf(`(() => { const p = performance.getEntriesByName("first-contentful-paint")[0];
		if (performance.timeOrigin === %.17g || document.readyState !== "complete" || !p ||
			location.search.includes("token")) return [];
		const n = performance.getEntriesByType("navigation")[0];
		return [n.requestStart, n.responseStart, n.responseEnd, p.startTime, n.decodedBodySize]; })()`, before)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var x []float64
		if err := b.evaluate(done, &x); err != nil {
			return p, err
		}
		if len(x) == 5 {
			return painted{x[0], x[1], x[2], x[3], x[4]}, nil
		}
	}
	return p, fmt.Errorf("%s is not painted", url)
}

// number is what an expression gives; 0 while a page makes way for the next.
func (b *driven) number(expression string) (v float64, err error) {
	err = b.evaluate(expression, &v)
	return v, err
}

// evaluate takes what an expression gives; nothing while a page makes way for the next.
func (b *driven) evaluate(expression string, into any) error {
	var x struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	err := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &x)
	if err != nil || len(x.Result.Value) == 0 {
		return err
	}
	return json.Unmarshal(x.Result.Value, into)
}
