package scheme_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/core/scheme"
	"weir/core/unit"
)

// colour is an enumeration.
type colour uint8

// every has a parameter of every kind.
type every struct {
	Int      int
	Float    float64
	Bool     bool
	Word     string
	Free     string
	Time     unit.Time
	Rate     unit.Rate
	LinkRate unit.LinkRate
	Share    float64
	Size     unit.Bytes
	Packets  int
	Length   unit.Length
	Depth    unit.Depth
	Colour   colour
	Sojourn  bool
	Weights  []scheme.Pair[int, int]
	Classes  []scheme.Pair[string, string]
	Base     float64
	Error    float64
	Ceilings []scheme.Pair[int, float64]
}

func word(s string) (string, error) { return s, nil }

func (c *every) Params(p *scheme.Params) {
	p.Int(&c.Int, "int", "3", "a number", "Weir").Min("-2").Max("5")
	p.Float(&c.Float, "float", "0.5", "a number", "Weir").Min("0.25").Max("2")
	p.Bool(&c.Bool, "bool", "true", "yes or no", "Weir")
	p.Text(&c.Word, "word", "each", "one of two", "Weir").Words("each", "shared")
	p.Text(&c.Free, "free", "", "any", "Weir")
	p.Time(&c.Time, "time", "5ms", "a time", "Weir").Min("1us").Max("1s")
	p.Rate(&c.Rate, "rate", "10kbps", "a rate", "Weir").Min("1bps").Max("1Gbps")
	p.LinkRate(&c.LinkRate, "link_rate", "0bps", "a link's rate", "Weir").Max("1Gbps")
	p.Share(&c.Share, "share", "85%", "a share", "Weir").Min("1%").Max("100%")
	p.Size(&c.Size, "size", "32MB", "a size", "Weir").Min("64 B").Max("1GB")
	p.Packets(&c.Packets, "packets", "24 packets", "a number of packets", "Weir").Min("1 packet").Max("100 packets")
	p.Length(&c.Length, "length", "6 packets", "a queue", "Weir").Min("1 packet").Max("9 packets")
	p.Depth(&c.Depth, "depth", "5ms", "a queue", "Weir").Min("1us")
	scheme.Choice(p, &c.Colour, []string{"red", "green"}, "colour", "green", "an enumeration", "Weir")
	p.BoolWords(&c.Sojourn, [2]string{"queue", "sojourn"}, "delay", "queue", "one of two", "Weir")
	scheme.MapOf(p, &c.Weights, strconv.Atoi, scheme.Ints, "weights", "by queue", "Weir").Min("1").Max("10")
	scheme.MapOf(p, &c.Classes, word, scheme.Texts, "classes", "by name", "Weir").Words("low", "high")
	p.Float(&c.Base, "base", "1.5", "of a logarithm", "Weir").Above("1").Max("2")
	p.Share(&c.Error, "error", "1%", "of an estimate", "Weir").Above("0%").Below("100%")
	scheme.MapOf(p, &c.Ceilings, strconv.Atoi, scheme.Shares, "ceilings", "by queue", "Weir").Above("0%").Max("100%")
}

var everyScheme = scheme.Scheme{Name: "every", Doc: "has all kinds", Source: "Weir", Config: scheme.NewDefault[every]}

// TestDefaults_FillFields checks that the defaults are in the fields.
func TestDefaults_FillFields(t *testing.T) {
	want := every{Int: 3, Float: 0.5, Bool: true, Word: "each", Time: 5 * unit.Millisecond, Rate: 10 * unit.Kbps,
		Share: 0.85, Size: 32 * unit.MB, Packets: 24, Length: unit.Length{Packets: 6},
		Depth: unit.Depth{Time: 5 * unit.Millisecond}, Colour: 1, Base: 1.5, Error: 0.01}
	if got := scheme.Defaults[every](); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, p := range everyScheme.Parameters() {
		t.Run(p.Name, func(t *testing.T) {
			if !p.IsDefault() || p.Doc == "" || p.Source != "Weir" || p.DescribeForm() == "" {
				t.Errorf("%+v, value %s", p, p.Value())
			}
		})
	}
}

// TestParam_SetChecksTextAndRange checks that a text of each kind sets its field. A wrong one does not, and the error
// names the allowed values. Bounds belong to their ranges.
func TestParam_SetChecksTextAndRange(t *testing.T) {
	for _, c := range []struct {
		name, text, value string // as Param.Value writes it; "": an error
		says              string
	}{
		{"int", "-2", "-2", ""}, {"int", "5", "5", ""},
		{"int", "-3", "", "int is -3; allowed: at least -2"}, {"int", "6", "", "allowed: at most 5"},
		{"int", "3.5", "", `"3.5" is not a whole number; allowed: a whole number`},
		{"float", "0.25", "0.25", ""}, {"float", "2", "2", ""}, {"float", "2.0001", "", "at most 2"},
		{"float", "much", "", "not a number"}, {"float", "NaN", "", "not a number"}, {"float", "Inf", "", "not a number"},
		{"bool", "false", "false", ""}, {"bool", "1", "", "not true or false"}, // YAML's booleans only
		{"word", "shared", "shared", ""}, {"word", "Each", "", "allowed: each, shared"},
		{"free", "any", "any", ""},
		{"time", "1us", "1us", ""}, {"time", "1s", "1s", ""}, {"time", "999ns", "", "at least 1us"},
		{"time", "1001ms", "", "at most 1s"}, {"time", "13", "", "no unit"},
		{"rate", "1bps", "1bps", ""}, {"rate", "1Gbps", "1Gbps", ""}, {"rate", "0bps", "", "at least 1bps"},
		{"rate", "fast", "", "a rate such as 10kbps"},
		{"link_rate", "40pps", "40pps", ""}, {"link_rate", "40Mbps", "40Mbps", ""}, {"link_rate", "0bps", "0bps", ""},
		{"link_rate", "2Gbps", "", "at most 1Gbps"}, {"link_rate", "40", "", "no unit"},
		{"share", "1%", "1%", ""}, {"share", "1", "100%", ""}, {"share", "0.9%", "", "at least 1%"},
		{"share", "-5%", "", "negative"},
		{"size", "64 B", "64B", ""}, {"size", "1GB", "1GB", ""}, {"size", "63 B", "", "at least 64 B"},
		{"packets", "1 packet", "1 packets", ""}, {"packets", "0 packets", "", "at least 1 packet"},
		{"packets", "1KB", "", "not a number of packets"},
		{"length", "9 packets", "9 packets", ""}, {"length", "10 packets", "", "at most 9 packets"},
		{"colour", "red", "red", ""}, {"colour", "blue", "", "allowed: red, green"},
		{"delay", "sojourn", "sojourn", ""}, {"delay", "time", "", "allowed: queue, sojourn"},
		{"weights", "{0: 1, 3: 10}", "{0: 1, 3: 10}", ""}, {"weights", "{}", "{}", ""},
		{"weights", "{0: 0}", "", "at least 1"}, {"weights", "{0: 11}", "", "at most 10"},
		{"weights", "{x: 1}", "", "invalid syntax"}, {"weights", "{1: 1, 01: 2}", "", `"01" is given twice`},
		{"weights", "5", "", "not a map"}, {"weights", "{5}", "", "no value"},
		{"classes", "{a: low, b: high}", "{a: low, b: high}", ""}, {"classes", "{a: middle}", "", "allowed: low, high"},
		{"base", "1.0001", "1.0001", ""}, {"base", "2", "2", ""}, {"base", "1", "", "base is 1; allowed: above 1"},
		{"base", "0.5", "", "above 1"}, {"base", "2.1", "", "at most 2"},
		{"error", "0.1%", "0.1%", ""}, {"error", "0%", "", "error is 0%; allowed: above 0%"},
		{"error", "99.9%", "99.9%", ""}, {"error", "100%", "", "error is 100%; allowed: below 100%"},
		{"ceilings", "{1: 1%, 2: 100%}", "{1: 1%, 2: 100%}", ""}, {"ceilings", "{1: 0%}", "", "above 0%"},
	} {
		t.Run(c.name+" "+c.text, func(t *testing.T) {
			config := scheme.Defaults[every]()
			p := scheme.Bind(&config)
			x := p.Find(c.name)
			before := x.Value()
			err := x.Set(c.text)
			var wrong *scheme.Error
			switch {
			case c.value != "" && (err != nil || x.Value() != c.value):
				t.Errorf("%s, %v; want %s", x.Value(), err, c.value)
			case c.value == "" && (!errors.As(err, &wrong) || wrong.Param != c.name || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v; want %s", err, c.says)
			case c.value == "" && x.Kind != scheme.Map && x.Value() != before:
				t.Errorf("it is %s now, and was %s", x.Value(), before)
			}
			if err == nil && len(p.CheckValues()) > 0 {
				t.Errorf("what is set is not valid: %v", p.CheckValues())
			}
		})
	}
}

// TestValidate_ChecksRangesOfFields checks that values that code sets have the same ranges.
func TestValidate_ChecksRangesOfFields(t *testing.T) {
	for name, change := range map[string]func(c *every){
		"int":       func(c *every) { c.Int = 6 },
		"float":     func(c *every) { c.Float = -1 },
		"word":      func(c *every) { c.Word = "none" },
		"time":      func(c *every) { c.Time = 0 },
		"link_rate": func(c *every) { c.LinkRate.Bits = -1 }, // no text says so, nor does its range
		"share":     func(c *every) { c.Share = 1.01 },
		"length":    func(c *every) { c.Length = unit.Length{} },
		"depth":     func(c *every) { c.Depth = unit.Depth{} },
		"colour":    func(c *every) { c.Colour = 2 },
		"weights":   func(c *every) { c.Weights = []scheme.Pair[int, int]{{Key: 0, Value: 1}, {Key: 1, Value: 11}} },
		"classes":   func(c *every) { c.Classes = []scheme.Pair[string, string]{{"a", "x"}} },
		"base":      func(c *every) { c.Base = 1 },
		"error":     func(c *every) { c.Error = math.NaN() }, // in no range
		"ceilings":  func(c *every) { c.Ceilings = []scheme.Pair[int, float64]{{Key: 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			c := scheme.Defaults[every]()
			if err := scheme.Validate(&c); err != nil {
				t.Fatal(err)
			}
			change(&c)
			var wrong *scheme.Error
			if err := scheme.Validate(&c); !errors.As(err, &wrong) || wrong.Param != name {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLimit_DescribesRangeAndNumber checks that a range is described as in errors, and as a number where a file allows
// one.
func TestLimit_DescribesRangeAndNumber(t *testing.T) {
	for _, c := range []struct {
		name, says string
		numbers    []float64
	}{
		{"int", "at least -2, at most 5", []float64{-2, 5}},
		{"base", "above 1, at most 2", []float64{1, 2}},
		{"error", "above 0%, below 100%", []float64{0, 1}},
		{"time", "at least 1us, at most 1s", nil},
		{"ceilings", "above 0%, at most 100%", nil},
		{"bool", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var says []string
			var numbers []float64
			var config every
			p := scheme.Bind(&config).Find(c.name)
			for _, limit := range p.Range {
				says = append(says, limit.String())
				if x, ok := limit.Number(p.Kind); ok {
					numbers = append(numbers, x)
				}
			}
			if got := strings.Join(says, ", "); got != c.says || !slices.Equal(numbers, c.numbers) {
				t.Errorf("%s, %v; want %s, %v", got, numbers, c.says, c.numbers)
			}
		})
	}
}

// ramp has parameters that must be given together. One of them is required.
type ramp struct{ Kmin, Kmax unit.Bytes }

func (c *ramp) Params(p *scheme.Params) {
	p.Size(&c.Kmin, "kmin", "", "where it begins", "Weir").Required()
	p.Size(&c.Kmax, "kmax", "100kB", "where it ends", "Weir")
	p.AddRule("kmin", func() error {
		if c.Kmin > c.Kmax {
			return fmt.Errorf("%v is above kmax, which is %v", c.Kmin, c.Kmax)
		}
		return nil
	})
}

// TestScheme_ConfigureNamesWrongParameter checks that Configure accepts given values, and names the parameters that
// conflict.
func TestScheme_ConfigureNamesWrongParameter(t *testing.T) {
	s := scheme.Scheme{Name: "ramp", Config: scheme.NewDefault[ramp]}
	for _, c := range []struct {
		name  string
		given []string
		says  string // "": nothing
	}{
		{"together", []string{"kmin", "5kB"}, ""},
		{"equal", []string{"kmin", "5kB", "kmax", "5kB"}, ""},
		{"against each other", []string{"kmin", "5kB", "kmax", "4kB"}, "ramp: kmin: 5kB is above kmax, which is 4kB"},
		{"required", []string{"kmax", "4kB"}, "ramp needs the parameter kmin"},
		{"unknown", []string{"kmin", "5kB", "gain", "1"}, "ramp has no parameter gain"},
		{"without value", []string{"kmin"}, "ramp has no parameter kmin with a value"},
		{"wrong", []string{"kmin", "five"}, "ramp: kmin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := s.Configure(c.given...)
			if c.says == "" {
				if err != nil || config.(*ramp).Kmin != 5*unit.KB {
					t.Errorf("%+v, %v", config, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %s", err, c.says)
			}
		})
	}
	var wrong *scheme.Error
	if err := scheme.Validate(&ramp{2, 1}); !errors.As(err, &wrong) || wrong.Param != "kmin" {
		t.Errorf("%v", err)
	}
}

// TestConfigAs_ReturnsOwnTypeOrDefaults checks that a configuration is returned as its own type, or with its defaults.
func TestConfigAs_ReturnsOwnTypeOrDefaults(t *testing.T) {
	c := ramp{1, 2}
	own, err := scheme.ConfigAs[ramp](&c)
	if c.Kmin = 5; err != nil || own != (ramp{1, 2}) {
		t.Errorf("%+v, %v", own, err)
	}
	if _, err := scheme.ConfigAs[ramp](nil); err == nil || !strings.Contains(err.Error(), "kmin") {
		t.Errorf("a required parameter is missing: %v", err)
	}
	if e, err := scheme.ConfigAs[every](nil); err != nil || e.Int != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := scheme.ConfigAs[every](&c); err == nil || !strings.Contains(err.Error(), "*scheme_test.ramp") {
		t.Errorf("another scheme's configuration: %v", err)
	}
	none := scheme.Scheme{Name: "none"}
	if _, ok := none.NewConfig().(*scheme.None); !ok || len(none.Parameters()) > 0 {
		t.Errorf("%+v", none.Parameters())
	}
}

// configFunc is a configuration by what it binds.
type configFunc func(p *scheme.Params)

func (f configFunc) Params(p *scheme.Params) { f(p) }

// TestBind_PanicsOnDeclarationMistakes checks that mistakes in a scheme's code are found when it is bound, or given its
// defaults.
func TestBind_PanicsOnDeclarationMistakes(t *testing.T) {
	var x, y int
	for name, f := range map[string]configFunc{
		"parameter a is bound twice": func(p *scheme.Params) {
			p.Int(&x, "a", "1", "", "")
			p.Int(&y, "a", "1", "", "")
		},
		"the default of a": func(p *scheme.Params) { p.Int(&x, "a", "one", "", "") },
		"a is 9":           func(p *scheme.Params) { p.Int(&x, "a", "9", "", "").Max("8") },
		"a bound of":       func(p *scheme.Params) { p.Int(&x, "a", "1", "", "").Max("many") },
		"a rule names the parameter b": func(p *scheme.Params) {
			p.Int(&x, "a", "1", "", "")
			p.AddRule("b", func() error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), name) {
					t.Errorf("panic: %v", r)
				}
			}()
			p := scheme.Bind(f)
			p.Reset()
		})
	}
}

// Example binds the fields of a configuration. Text and code set them, with the same ranges.
func Example() {
	s := scheme.Scheme{Name: "ramp", Doc: "marks more and more", Source: "Weir", Config: scheme.NewDefault[ramp]}
	for _, p := range s.Parameters() {
		fmt.Println(p.Name+":", p.Doc)
	}
	c, _ := s.Configure("kmin", "20kB")
	fmt.Println(*c.(*ramp))
	_, err := s.Configure("kmin", "200kB")
	fmt.Println(err)

	own := scheme.Defaults[ramp]()
	own.Kmin, own.Kmax = 8*unit.KB, 4*unit.KB
	fmt.Println(scheme.Validate(&own))
	// Output:
	// kmin: where it begins
	// kmax: where it ends
	// {20kB 100kB}
	// ramp: kmin: 200kB is above kmax, which is 100kB
	// kmin: 8kB is above kmax, which is 4kB
}
