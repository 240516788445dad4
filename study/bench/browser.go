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

// driver controls a headless Chromium by the DevTools protocol over a pipe: messages are JSON, each followed by a zero
// byte.
type driver struct {
	command  *exec.Cmd // nil: it has no process
	requests io.Writer
	replies  *bufio.Reader
	pipes    []io.Closer
	lastID   int
	session  string
}

// startBrowser starts the browser program with the given profile folder and opens an empty page. The caller must call
// end. Canceling ctx kills the browser.
func startBrowser(ctx context.Context, program, profile string) (*driver, error) {
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
		arguments = append([]string{"--no-sandbox"}, arguments...) // the sandbox does not run as root
	}
	c := exec.CommandContext(ctx, program, arguments...)
	c.ExtraFiles = []*os.File{read, write} // 3 and 4
	c.WaitDelay = 5 * time.Second
	b := &driver{command: c, requests: to, replies: bufio.NewReaderSize(from, 1<<16), pipes: []io.Closer{to, from}}
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

// attach opens a page. Later calls apply to it. It returns an error if the browser does not respond as expected.
func (b *driver) attach() error {
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

// end closes the pipes and kills the browser.
func (b *driver) end() {
	for _, f := range b.pipes {
		f.Close()
	}
	if b.command != nil && b.command.Process != nil {
		b.command.Process.Kill()
		b.command.Wait()
	}
}

// reply is a message of the browser: the result of a call, or an event.
type reply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// readReply reads the next message.
func (b *driver) readReply() (a reply, err error) {
	data, err := b.replies.ReadBytes(0)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &a)
}

// call calls a method of the browser, and waits for its result. It drops events that arrive before. It decodes the
// result into result unless that is nil.
func (b *driver) call(method string, params any, result any) error {
	b.lastID++
	message := map[string]any{"id": b.lastID, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := b.requests.Write(append(data, 0)); err != nil {
		return err
	}
	for {
		a, err := b.readReply()
		switch {
		case err != nil:
			return err
		case a.ID != b.lastID: // an event
		case a.Error != nil:
			return errors.New(a.Error.Message)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(a.Result, result)
		}
	}
}

// paintTimes has the times at which a browser loaded and painted a page, in ms after it was asked to open it.
type paintTimes struct {
	RequestSent   float64 // the request was sent
	ResponseStart float64 // the response begins
	ResponseEnd   float64 // the response is complete
	FirstPaint    float64 // first contentful paint
	Bytes         float64 // of the response, without its head
}

// paint opens a page, and returns its times until the first paint. It waits until the page is complete and its address
// has no token. It fails after 30 s.
func (b *driver) paint(url string) (p paintTimes, err error) {
	before, err := b.evaluateNumber("performance.timeOrigin") // identifies the page that is still open
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
			return paintTimes{x[0], x[1], x[2], x[3], x[4]}, nil
		}
	}
	return p, fmt.Errorf("%s is not painted", url)
}

// evaluateNumber returns the value of a JavaScript expression; 0 while a page is being replaced.
func (b *driver) evaluateNumber(expression string) (v float64, err error) {
	err = b.evaluate(expression, &v)
	return v, err
}

// evaluate decodes the value of a JavaScript expression into a variable. While a page is being replaced it leaves the
// variable unchanged.
func (b *driver) evaluate(expression string, into any) error {
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
