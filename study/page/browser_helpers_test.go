//go:build system || slow

package page_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"weir/internal/testkit"
	"weir/internal/testkit/await"
)

// browser is a headless Chromium, which keeps the output of its console.
type browser struct {
	context.Context
	t    *testing.T
	url  string
	lock sync.Mutex
	said []string
}

// longest is how long a test with a browser may take, on a busy machine.
const longest = 20 * time.Minute

// open starts a browser and signs it in; without Chromium the test is skipped.
func open(t *testing.T, s *served) *browser {
	t.Helper()
	testkit.RequireProgram(t, "chromium", "chromium")
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

// click clicks on an element. A page that redraws itself between the look and the click removes the element. Then click
// looks again and clicks on the new one.
func (b *browser) click(selector string) {
	b.t.Helper()
	await.AwaitCondition(b.t, "a click on "+selector, func() bool {
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
	await.AwaitCondition(b.t, expression, func() bool {
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
