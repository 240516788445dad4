package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"weir/study/experiment"
	"weir/study/page"
	"weir/study/page/live"
)

// Example shows that a server refuses requests without its token.
func Example() {
	s, err := page.New(live.Options{Registry: &experiment.Registry{}, ResultsDir: "results"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, token := range []string{"guessed", s.Token()} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8100/?token="+token, nil))
		fmt.Println(w.Code, w.Header().Get("Set-Cookie") != "")
	}
	// Output:
	// 401 false
	// 200 true
}
