package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
)

// message is a call of the DevTools protocol.
type message struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Session string          `json:"sessionId"`
	Params  json.RawMessage `json:"params"`
}

// fakeBrowser answers calls of the DevTools protocol with what answer returns: a result or an error's text. An event
// precedes each answer.
func fakeBrowser(answer func(m *message) (result any, failure string)) (b *driver) {
	calls, to := io.Pipe()
	from, answers := io.Pipe()
	go func() {
		defer answers.Close()
		for r := bufio.NewReader(calls); ; {
			data, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			reply := map[string]any{}
			if err := json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m); err != nil {
				return
			}
			result, failure := answer(&m)
			if reply["id"] = m.ID; failure != "" {
				reply["error"] = map[string]string{"message": failure}
			} else {
				reply["result"] = result
			}
			for _, x := range []any{map[string]any{"method": "Page.frameNavigated", "params": 1}, reply} {
				data, err := json.Marshal(x)
				if err != nil {
					return
				}
				if _, err := answers.Write(append(data, 0)); err != nil {
					return
				}
			}
		}
	}()
	return &driver{requests: to, replies: bufio.NewReader(from), pipes: []io.Closer{to, from}}
}

// value is the result of Runtime.evaluate.
func value(v any) any { return map[string]any{"result": map[string]any{"value": v}} }

// pageBrowser is a fake browser with one page. It gets documents from open. A page is painted after a number of looks.
func pageBrowser(looks int, open func(url string) (size int, err error)) *driver {
	origin, left, size := 0.0, 0, 0
	return fakeBrowser(func(m *message) (any, string) {
		var p struct{ TargetID, URL, Expression string }
		json.Unmarshal(m.Params, &p)
		if (m.Session == "the session") != slices.Contains([]string{"Page.enable", "Page.navigate", "Runtime.evaluate"},
			m.Method) {
			return nil, m.Method + " of session " + m.Session
		}
		switch m.Method {
		case "Target.createTarget":
			return map[string]string{"targetId": "the target"}, ""
		case "Target.attachToTarget":
			if p.TargetID != "the target" {
				return nil, "no such target"
			}
			return map[string]string{"sessionId": "the session"}, ""
		case "Page.navigate":
			var err error
			if size, err = open(p.URL); err != nil {
				return nil, err.Error()
			}
			origin, left = origin+1, looks
			return map[string]any{}, ""
		case "Runtime.evaluate":
			if !strings.Contains(p.Expression, "first-contentful-paint") {
				return value(origin), ""
			}
			if left--; left >= 0 {
				return value([]float64{}), ""
			}
			return value([]float64{1, 3, 6, 10, float64(size)}), ""
		}
		return map[string]any{}, ""
	})
}

// TestPaint_PollsUntilPainted checks that a page is polled every 20 ms until it is painted, for at most 30 s.
func TestPaint_PollsUntilPainted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pageBrowser(3, func(url string) (int, error) {
			if url == "http://gone" {
				return 0, errors.New("connection refused")
			}
			return len(url), nil
		})
		defer b.end()
		if err := b.attach(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		p, err := b.paint("http://a")
		if err != nil || p != (paintTimes{1, 3, 6, 10, 8}) || time.Since(start) != 3*20*time.Millisecond {
			t.Errorf("%+v after %v, %v", p, time.Since(start), err)
		}
		if _, err := b.paint("http://gone"); err == nil || err.Error() != "connection refused" {
			t.Errorf("%v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := pageBrowser(1<<30, func(string) (int, error) { return 0, nil })
		defer b.end()
		if err := b.attach(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := b.paint("http://a"); err == nil || err.Error() != "http://a is not painted" ||
			time.Since(start) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestBrowserFails checks that a browser that ends, refuses a call or answers with something else than JSON is an
// error.
func TestBrowserFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(m *message) (any, string)
		want   string
	}{
		"refuses":      {func(*message) (any, string) { return nil, "not allowed" }, "not allowed"},
		"another type": {func(*message) (any, string) { return 5, "" }, "json: "},
		"ends": {func(m *message) (any, string) {
			if m.Method == "Page.enable" {
				return func() {}, "" // which has no JSON: the browser ends
			}
			return map[string]string{}, ""
		}, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			b := fakeBrowser(c.answer)
			defer b.end()
			if err := b.attach(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	b := &driver{requests: io.Discard, replies: bufio.NewReader(strings.NewReader("no JSON\x00"))}
	if err := b.call("Page.enable", nil, nil); err == nil {
		t.Error("an answer without JSON is no error")
	}
}

// TestPageRounds checks that each round opens the list of results twice, one result by name and the catalogue, of a
// separate server.
func TestPageRounds(t *testing.T) {
	var opened, doing []string
	o := PageOptions{Results: 4, Rounds: 2, Progress: func(s string) { doing = append(doing, s) },
		open: func(_ context.Context, profile string) (*driver, error) {
			if !strings.HasSuffix(profile, "profile") {
				t.Errorf("profile %s", profile)
			}
			jar, err := cookiejar.New(nil)
			if err != nil {
				return nil, err
			}
			client := http.Client{Jar: jar}
			b := pageBrowser(0, func(url string) (int, error) {
				r, err := client.Get(url)
				if err != nil {
					return 0, err
				}
				defer r.Body.Close()
				body, err := io.ReadAll(r.Body)
				opened = append(opened, r.Status+" "+r.Request.URL.RequestURI())
				if strings.Contains(url, "find=") && strings.Count(string(body), `<a href="/results/`) != 1 {
					t.Errorf("%s does not find one result:\n%s", url, body)
				}
				return len(body), err
			})
			return b, b.attach()
		}}
	r := plantest.NewRegistry(p4abc.Scheme(), "")
	text := plantest.Small + plantest.SmallTraffic +
		"switch: [forward]\nsweep: {rate: [1Mbps]}\nmeasure: [goodput]\nquick: {duration: 100ms}\n"
	r.Library = []experiment.Library{{Name: "mine", Files: fstest.MapFS{"experiments/small.yaml": {Data: []byte(text)}}}}
	f, err := Page(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(opened) != 2*5 || !strings.HasPrefix(opened[1], "200 OK /results") ||
		!strings.HasPrefix(opened[3], "200 OK /results?find=mine-small-") || opened[4] != "200 OK /" {
		t.Errorf("%q", opened)
	}
	if want := []string{"making 4 results", "round 1 of 2", "round 2 of 2"}; !slices.Equal(doing, want) {
		t.Errorf("%q", doing)
	}
	for name, x := range map[string]PagePaints{"list": f.List, "again": f.Again, "found": f.Found,
		"catalogue": f.Home} {
		t.Run(name, func(t *testing.T) {
			if len(x.First) != 2 || x.First[0] != 10 || x.Server[0] != 2 || x.Sent[0] != 3 || x.Bytes[0] < 1000 {
				t.Errorf("%+v", x)
			}
		})
	}
	for _, want := range []string{"with 4 results", "list of results, again",
		"  10 ms (10): server 2, transfer 3 ms; "} {
		if !strings.Contains(f.String(), want) {
			t.Errorf("no %q in:\n%s", want, f)
		}
	}
	if !strings.Contains(string(f.JSON()), `"results": 4`) {
		t.Errorf("JSON: %s", f.JSON())
	}
}
