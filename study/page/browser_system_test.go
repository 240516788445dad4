//go:build system

package page_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"weir/internal/testutil/await"
)

// browser is a headless Chromium, which keeps what its console says.
type browser struct {
	context.Context
	t    *testing.T
	url  string
	lock sync.Mutex
	said []string
}

// longest is how long a test with a browser may take, on a busy machine.
const longest = 20 * time.Minute

// open starts a browser and lets it in; without Chromium the test is skipped.
func open(t *testing.T, s *served) *browser {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox) // root has none
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx, t: t, url: s.url}
	b.do(chromedp.Navigate(s.url + "/?token=" + s.Token()))
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.lock.Lock()
			b.said = append(b.said, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
			b.lock.Unlock()
		}
	}()
	b.until(`document.querySelector("h1")?.textContent === "Experiments"`)
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.Context, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// click clicks on what is there. A page that draws itself anew between the look and the click takes the node away:
// nothing was clicked then, and the new one is.
func (b *browser) click(selector string) {
	b.t.Helper()
	await.Until(b.t, "a click on "+selector, func() bool {
		err := chromedp.Do(b.Context, chromedp.Click(selector, chromedp.NodeVisible))
		if err != nil && !strings.Contains(err.Error(), "find node with given id") {
			b.t.Fatalf("click on %s: %v", selector, err)
		}
		return err == nil
	})
}

// until waits until an expression holds.
func (b *browser) until(expression string) {
	b.t.Helper()
	defer func() {
		if b.t.Failed() {
			text, _ := chromedp.Run(b.Context, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
			b.t.Logf("the page is\n%.3000s\n%v", text, b.said)
		}
	}()
	await.Until(b.t, expression, func() bool {
		is, err := chromedp.Run(b.Context, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		return err == nil && is
	})
}

// eval is what an expression gives.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// quiet checks that the console has said nothing: no error, and nothing that the policy has refused.
func (b *browser) quiet() {
	b.t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, s := range b.said {
		b.t.Errorf("the console says %s", s)
	}
}

// The first hour, by clicking: an experiment is found, run, watched and looked at; changed, run again, and compared.
func TestFirstHour(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results")
	b := open(t, serve(t, out))
	b.do(chromedp.SendKeys("#find", "figure 5, tcp"))
	b.until(`document.querySelector("#found").textContent.endsWith(" found")`)
	b.click(`.cards a[href="/experiments/p4abc/fig5"]`)
	b.until(`document.querySelector("#preview-text")?.textContent.startsWith("3 hosts, 1 switch,")`)
	b.click(`input[name="quick"]`)
	b.click(`details summary`)
	b.do(chromedp.SendKeys(`input[name="trace"]`, "s1->server", chromedp.NodeVisible),
		chromedp.SendKeys(`.set:nth-child(1) input[name="key"]`, "duration"),
		chromedp.SendKeys(`.set:nth-child(1) input[name="value"]`, "10s"))
	b.click(`#form button.primary`)

	// It runs: its page says how far it is, with curves, until there are results.
	b.until(`document.querySelector("#state")?.textContent === "done"`)
	b.until(`document.querySelectorAll("#live-plots canvas").length >= 3`)
	b.until(`[...document.querySelectorAll("#runs .state")].every((x) => x.textContent === "finished")`)
	b.click("#watch")
	b.film()

	// Results: claims, figures, a run, its trace.
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelector("#result")?.getAttribute("href")`)
	b.click("#result")
	b.until(`document.querySelector(".claims .tag")`)
	first := eval[string](b, `location.pathname.split("/").pop()`)
	if n := eval[int](b, `document.querySelectorAll(".figures img").length`); n != 2 {
		t.Errorf("%d figures", n)
	}
	b.until(`[...document.querySelectorAll(".figures img")].every((x) => x.complete && x.naturalWidth > 0)`)
	b.click(`main table a[href*="/runs/"]`)
	b.until(`document.querySelectorAll("#plots canvas").length > 0 && document.querySelector("#said").textContent`)
	b.click(`a[href^="/traces?trace="]`)
	b.until(`document.querySelectorAll(".events tbody tr").length === 500`)
	b.do(chromedp.SetValue(`select[name="kind"]`, "drop,lost"))
	b.click(`form button.primary`)
	b.until(`[...document.querySelectorAll(".events tbody tr")].every((r) => r.cells[1].textContent === "drop")`)

	// Changed, it runs again.
	b.do(chromedp.Navigate(b.url + "/results/" + first))
	b.click(`a[href^="/experiments/p4abc/fig5?"]`)
	b.until(`document.querySelector('input[name="quick"]')?.checked`)
	b.do(chromedp.SendKeys(`.set:nth-child(2) input[name="key"]`, "traffic.client0.cc"),
		chromedp.SendKeys(`.set:nth-child(2) input[name="value"]`, "bbr"))
	b.click(`#form button[formmethod]`)
	b.until(`document.querySelector(".good")`)
	b.click(`#form button.primary`)
	b.until(`document.querySelector("#state")?.textContent === "done"`)

	// Both side by side.
	b.click(`nav a[href="/results"]`)
	b.until(`document.querySelectorAll('#results input[name="r"]').length === 2`)
	b.until(`document.querySelector("#compare-b").disabled`) // nothing is chosen
	b.click(`tr:nth-child(1) input[name="r"]`)
	b.click(`tr:nth-child(2) input[name="r"]`)
	b.click("#compare-b")
	b.until(`document.querySelector("h1")?.textContent === "Side by side"`)
	text := eval[string](b, `document.querySelector("main").innerText`)
	has(t, "the comparison", text, "traffic.client0.cc", "bbr", "cubic", "goodput client0 [Mb/s]", "with ABC both clients")

	b.click(`nav a[href="/docs"]`)
	b.do(chromedp.SendKeys(`input[name="find"]`, "snap length\r"))
	b.until(`document.querySelector('.hits a[href="/docs/docs/traces.md"]')`)
	b.quiet()
}

// film plays a film, by mouse and by keyboard.
func (b *browser) film() {
	b.t.Helper()
	b.until(`document.querySelectorAll("#ports tr:not([hidden]) button").length === 6`)
	b.until(`Number(document.querySelector("#scrub").max) > 100`)
	b.until(`document.querySelectorAll("#plots canvas").length === 4`)
	picture := `document.querySelector("#net").toDataURL()`
	b.do(chromedp.Focus("#scrub"), chromedp.KeyEvent(kb.Home))
	b.until(`document.querySelector("#scrub").value === "0"`)
	before := eval[string](b, picture)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until(`document.querySelector("#scrub").value === "1"`)
	b.do(chromedp.KeyEvent(kb.PageUp))
	b.until(`Number(document.querySelector("#scrub").value) > 10`)
	if eval[string](b, picture) == before {
		b.t.Error("at another time the network looks the same")
	}
	b.click("#play")
	b.until(`document.querySelector("#play").textContent === "Pause"`)
	at := eval[int](b, `Number(document.querySelector("#scrub").value)`)
	b.until(fmt.Sprintf(`Number(document.querySelector("#scrub").value) > %d`, at+5))
	b.click("#play")
	b.until(`document.querySelector("#play").textContent === "Play"`)
	b.click("#ports tbody tr:nth-child(1) button")
	b.until(`document.querySelector('#ports button[aria-pressed="true"]')`)
	b.until(`document.querySelector("#said").textContent.startsWith("At ")`)
}
