//go:build system

package page_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestFirstHour checks the first hour by clicks: an experiment is found, run, watched and viewed, then changed, run
// again, and compared.
func TestFirstHour(t *testing.T) {
	out := filepath.Join(t.TempDir(), "results")
	b := open(t, serve(t, out))
	b.do(chromedp.SendKeys("#find", "figure 5, tcp"))
	b.until(`document.querySelector("#found").textContent.endsWith(" found")`)
	b.click(`.cards a[href="/experiments/p4abc/fig5"]`)
	b.until(`document.querySelector("#preview-text")?.textContent.startsWith("3 hosts, 1 switch,")`)
	b.click(`input[name="quick"]`)
	b.click(`details:has(input[name="trace"]) summary`)
	b.do(chromedp.SendKeys(`input[name="trace"]`, "s1->server", chromedp.NodeVisible),
		chromedp.SendKeys(`.set:nth-child(1) input[name="key"]`, "duration"),
		chromedp.SendKeys(`.set:nth-child(1) input[name="value"]`, "10s"))
	b.click(`#form button.primary`)

	// It runs: its page shows the progress, with curves, until there are results.
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

// quiet checks that the console is empty: no error, and no refusal of the policy.
func (b *browser) quiet() {
	b.t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, s := range b.said {
		b.t.Errorf("the console says %s", s)
	}
}
