package claim

import (
	"math"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// expressions are claims and how a verdict shows them.
var expressions = []struct{ text, want string }{
	// a number is printed as the claim has it, for any values of other quantities
	{"goodput.heavy > 1kbps and count(map(1..100000, 1), true) > 0",
		"goodput.heavy > 1kbps and count(map(1..100000, 1), true) > 0"},
	{"goodput.light * 21000.5 < 1kbps", "goodput.light * 21000.5 < 1kbps"},
	{"goodput.a > 1kbps and goodput.a > 1000", "goodput.a > 1kbps and goodput.a > 1000"},
	{"goodput.h1000 > 1kbps", "goodput.h1000 > 1kbps"},
	{"x > 1kbps and scheme == 'a1000b'", `x > 1kbps and scheme == "a1000b"`},
	{"delay.a < 1ms and jain > 0.001", "delay.a < 1ms and jain > 0.001"},
	{"x > 1kB or x > 8kbps or x > 8000", "x > 1kB or x > 8kbps or x > 8000"},
	{"x > 5ms and y == '5ms'", `x > 5ms and y == "5ms"`},
	{"abs(x - 23.9Mbps)<=10%*x", "abs(x - 23.9Mbps) <= 10% * x"},
	{"x > 1e3 and x > 1_000 and x > 0x10", "x > 1e3 and x > 1_000 and x > 0x10"},
	{"'µs' == y and x > 5µs + 1kbps", `"µs" == y and x > 5µs + 1kbps`},
	{"point_0.goodput.a > -1kbps", "point(rate=1kbps).goodput.a > -1kbps"},
	{"(x + 1kbps) * 2 > 4Mbps", "(x + 1kbps) * 2 > 4Mbps"},
}

// parsed parses an expression with quantities.
func parsed(t *testing.T, text string) (n, people ast.Node) {
	t.Helper()
	plain, tokens := replaceQuantities(text)
	tree, err := parser.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	people, err = displayTree(plain, tokens, []string{"point_0", "point(rate=1kbps)"})
	if err != nil {
		t.Fatal(err)
	}
	return tree.Node, people
}

// TestExpression_ShownTextParsesBack checks that a verdict shows an expression as the claim has it, and that the text
// parses to the same expression.
func TestExpression_ShownTextParsesBack(t *testing.T) {
	for _, x := range expressions {
		t.Run(x.text, func(t *testing.T) {
			n, people := parsed(t, x.text)
			if got := people.String(); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
			again, err := parser.Parse(ReplaceQuantities(strings.ReplaceAll(people.String(), "point(rate=1kbps)", "point_0")))
			if err != nil || again.Node.String() != n.String() {
				t.Errorf("read again it is %v (%v), not %v", again.Node, err, n)
			}
		})
	}
}

// TestJudgeSeeds_InfiniteMeanIsUndecided checks that a side with an infinite mean, or that divides by 0, for some seeds
// leaves every comparison undecided, unless a condition of its own decides whether it divides. The reason names it, and
// what it divides by.
func TestJudgeSeeds_InfiniteMeanIsUndecided(t *testing.T) {
	seeds := func(b ...float64) (envs []map[string]any) {
		for _, x := range b {
			envs = append(envs, map[string]any{"a": 20.0, "b": x})
		}
		return envs
	}
	none := func(ast.Node) (string, bool) { return "", false }
	for _, x := range []struct {
		text  string
		envs  []map[string]any
		value ternary
		want  string
	}{
		{"a / b >= 2", seeds(0, 0, 0), maybe, "a / b is infinite for 3 of 3 seeds: b is 0"},
		{"a / b >= 2", seeds(1, 0, 1), maybe, "a / b is infinite for 1 of 3 seeds: b is 0"},
		{"a / b >= 2", seeds(0), maybe, "a / b is infinite for 1 of 1 seed: b is 0"},
		{"0 - a / (b - b) < 5", seeds(1, 1), maybe, "0 - a / (b - b) is infinite for 2 of 2 seeds: b - b is 0"},
		{"5 != a / b", seeds(0, 0), maybe, "a / b is infinite for 2 of 2 seeds: b is 0"},
		{"not (a / b < 5)", seeds(0, 0), maybe, "a / b is infinite for 2 of 2 seeds: b is 0"},
		{"a / b == a / b", seeds(0, 0), maybe, "a / b is infinite for 2 of 2 seeds: b is 0"},
		{"a / b > 5 or a > 10", seeds(0, 0), yes, "a = 20 > 10"},
		{"a / b > 5 and a > 10", seeds(0, 0), maybe, "a / b is infinite for 2 of 2 seeds: b is 0"},
		{"a / b > 5 and a > 30", seeds(0, 0), no, "a = 20 > 30"},
		{"b > 5", seeds(math.Inf(1)), maybe, "b is infinite for 1 of 1 seed"},
		{"b / b > 5", seeds(0, 0), maybe, "b / b is not defined for 2 of 2 seeds"},
		{"min(a / b, 3) < 5", seeds(0, 0), maybe, "min(a / b, 3) divides by 0 for 2 of 2 seeds: b is 0"},
		{"1 / (a / b) < 5", seeds(1, 0), maybe, "1 / (a / b) divides by 0 for 1 of 2 seeds: b is 0"},
		{"any([a / b], # > 5)", seeds(0, 0), maybe, "any([a / b], # > 5) divides by 0 for 2 of 2 seeds: b is 0"},
		{"(a / b > 5 ? 1 : 0) == 1", seeds(0, 0), maybe, "a / b > 5 ? 1 : 0 divides by 0 for 2 of 2 seeds: b is 0"},
		{"(b > 0 ? a / b : 7) == 7", seeds(0, 0), yes, "b > 0 ? a / b : 7 = 7 == 7"},
		{"any([a], b > 0 and # / b > 5)", seeds(0, 0), no, "any([a], b > 0 and # / b > 5) is false"},
		{"min(b ** -1, 5) > 3", seeds(0, 0), maybe, "min(b ** -1, 5) divides by 0 for 2 of 2 seeds: b is 0"},
		{"b ^ (1 - a) > 3", seeds(0, 1), maybe, "b ^ (1 - a) is infinite for 1 of 2 seeds: b is 0"},
		{"min(b ** 2, 5) < 3", seeds(0, 0), yes, "min(b ** 2, 5) = 0 < 3"},
		{"min(b > 0 ? b ** -1 : 4, 5) > 3", seeds(0, 0), yes, "min(b > 0 ? b ** -1 : 4, 5) = 4 > 3"},
		{"a / b >= 2", seeds(1, 2, 1), yes, "a / b = 16.67 >= 2"},
	} {
		t.Run(x.text, func(t *testing.T) {
			n, people := parsed(t, x.text)
			that, err := newTruth(n, people, x.envs[0], none)
			if err != nil {
				t.Fatal(err)
			}
			if v := that.judgeSeeds(x.envs); v.value != x.value || !strings.HasPrefix(v.text, x.want) {
				t.Errorf("%v: %s, want %v: %s", v.value, v.text, x.value, x.want)
			}
		})
	}
}

// TestJudgeSeeds_UndefinedMeasureIsUndecided checks that a comparison that needs an undefined measure is undecided, for
// any order of arguments, and that the reason names the measure. What a condition of the claim skips need not be
// defined.
func TestJudgeSeeds_UndefinedMeasureIsUndecided(t *testing.T) {
	const y2 = "fct.y is not defined for 2 of 2 seeds"
	for _, x := range []struct {
		text  string
		value ternary
		want  string
	}{
		{"max(fct.x, fct.y) < 1ms", maybe, y2},
		{"max(fct.y, fct.x) < 1ms", maybe, y2},
		{"1ms > min(fct.x, fct.y)", maybe, y2},
		{"fct.x < fct.y", maybe, y2},
		{"fct['y'] > 1ms", maybe, "fct.y is not defined"},
		{"fct[who] > 1ms", maybe, "fct[who] is not defined for 2 of 2 seeds"},
		{"fct.z > 1ms", maybe, "fct.z is not defined for 1 of 2 seeds"},
		{"next.fct.y > fct.x", maybe, "next.fct.y is not defined for 2 of 2 seeds"},
		{"(fct.y > 1ms ? 1 : 0) == 0", maybe, y2},
		{"(fct.y < 1ms) == false", maybe, y2},
		{"none([fct.y], # > 1ms)", maybe, y2},
		{"count([fct.x, fct.y], # > 1ms) == 0", maybe, y2},
		{"any([fct.y], # < 1ms)", maybe, y2},
		{"any([fct.x, fct.y], # < 1ms)", maybe, y2},
		{"all([fct.x, fct.y], # < 1ms)", maybe, y2},
		{"all(values(fct), # < 1ms)", maybe, y2},
		{"all([fct.x], # < fct.y)", maybe, y2},
		{"let v = fct.y; max(fct.x, v) < 1ms", maybe, y2},
		{"all(bins.a, .p99 < 9)", maybe, "bins.a[1].p99 is not defined for 2 of 2 seeds"},
		{"(n == 0 or fct.y < 1ms ? 1 : 0) == 0", maybe, y2},
		{"(fct.y < 1ms and n == 3 ? 1 : 0) == 0", maybe, y2},
		{"0 * fct.y == 0", maybe, y2},
		// decided by the rest, or guarded
		{"fct.y < 1ms or n == 3", yes, "n = 3 == 3"},
		{"fct.y < 1ms and n == 2", no, "n = 3 == 2"},
		{"(n == 3 ? fct.x : fct.y) < 1ms", yes, ""},
		{"(n != 3 ? fct.y : fct.x) < 1ms", yes, ""},
		{"(n == 3 or fct.y < 1ms ? 1 : 0) == 1", yes, ""},
		{"(fct.y < 1ms or n == 3 ? 1 : 0) == 1", yes, ""},
		{"(fct.y < 1ms and n == 2 ? 1 : 0) == 0", yes, ""},
		{"(n == 2 and fct.y < 1ms ? 1 : 0) == 0", yes, ""},
		{"n == 3 ? fct.x < 1ms : fct.y < 1ms", yes, ""},
		{"max(fct.x, fct.y == fct.y ? fct.y : 0) < 1ms", yes, ""},
		{"all(filter([fct.x, fct.y], # == #), # < 1ms)", yes, ""},
		{"all([fct.x, fct.y], # != # or # < 1ms)", yes, ""},
		{"all([fct.x], n == 3 or # < fct.y)", yes, ""},
		{"all(bins.a, .n < 5 or .p99 < 9)", yes, ""},
		{"all(bins.a, .n > 1)", yes, ""},
		{"max(fct.x, n * 1us) < 1ms", yes, ""},
	} {
		t.Run(x.text, func(t *testing.T) {
			envs := []map[string]any{undefinedSample(math.NaN()), undefinedSample(1)}
			n, people := parsed(t, x.text)
			that, err := newTruth(n, people, undefinedSample(1), func(ast.Node) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			if v := that.judgeSeeds(envs); v.value != x.value || !strings.HasPrefix(v.text, x.want) {
				t.Errorf("%v: %s, want %v: %s", v.value, v.text, x.value, x.want)
			}
		})
	}
}

// undefinedSample is a run in which no flow of y finished, and flows of z took the given time.
func undefinedSample(z float64) map[string]any {
	fct := map[string]float64{"x": 1e-4, "y": math.NaN(), "z": z}
	return map[string]any{"fct": fct, "n": 3, "who": "y", "next": map[string]any{"fct": fct},
		"bins": map[string][]map[string]float64{"a": {{"n": 7, "p99": 2}, {"n": 2, "p99": math.NaN()}}}}
}

// TestDescribeError_HasNoTypesOfGo checks that errors of the expression library appear in the words of experiments.
func TestDescribeError_HasNoTypesOfGo(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"x", "that is a number, not a condition"},
		{"s", "that is a text, not a condition"},
		{"list", "that is a list, not a condition"},
		{"groups", "that is a map, not a condition"},
		{"not x", "not does not apply to a number"},
		{"x < s", "< does not apply to a number and a text"},
		{"all(x, true)", "builtin all takes only array (got a number)"},
		{"x < (1", "the expression ends too early"},
		{"x < 1 s", `unexpected "s"`},
	} {
		t.Run(x.text, func(t *testing.T) {
			env := map[string]any{"x": 1.5, "s": "a", "list": []map[string]float64{}, "groups": map[string]float64{}}
			_, err := expr.Compile(x.text, expr.Env(env), expr.AsBool())
			if err == nil {
				t.Fatal("no error")
			}
			if got := describeError("that", err); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}
