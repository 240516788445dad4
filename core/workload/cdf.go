package workload

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"weir/core/unit"
)

// Point is one point of a distribution: this share of flows, from 0 to 1, has at most this size in bytes.
type Point struct {
	Bytes float64
	Share float64
}

// CDF is a distribution of flow sizes, linear between its points, as the HPCC
// simulator's traffic_gen reads it.
type CDF struct {
	Name   string
	Points []Point
}

// Distributions returns the distributions of the HPCC simulator's traffic_gen.
func Distributions() []CDF {
	return []CDF{
		{"alistorage", percentPoints(0, 0, 4000, 22.93, 8000, 69.21, 16000, 80.61, 32000, 90.47, 64000, 93.53, 128000, 96.77,
			256000, 97.53, 2000000, 100)},
		{"hadoop", percentPoints(0, 0, 100, 1, 200, 2, 300, 5, 350, 15, 400, 20, 500, 30, 600, 40, 700, 50, 1000, 60,
			2000, 67, 7000, 70, 30000, 72, 50000, 82, 80000, 87, 120000, 90, 300000, 95, 1000000, 97.5, 2000000, 99,
			10000000, 100)},
		{"websearch", percentPoints(0, 0, 10000, 15, 20000, 20, 30000, 30, 50000, 40, 80000, 53, 200000, 60, 1000000, 70,
			2000000, 80, 5000000, 90, 10000000, 97, 30000000, 100)},
	}
}

// percentPoints makes points from pairs of a size in bytes and a cumulative percentage, 0 to 100.
func percentPoints(v ...float64) []Point {
	var p []Point
	for i := 0; i < len(v); i += 2 {
		p = append(p, Point{v[i], v[i+1] / 100})
	}
	return p
}

// ReadCDF reads a distribution: lines of "<bytes> <cumulative percent>", neither of them decreasing, the last at 100.
// Empty lines are skipped. file becomes the name. Errors are of type *FormatError.
func ReadCDF(r io.Reader, file string) (*CDF, error) {
	lines := bufio.NewScanner(r)
	c := &CDF{Name: file}
	line := 0
	var end fileEnd
	for lines.Scan() {
		line++
		text := lines.Text()
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		end = fileEnd{line, len(text) + 1}
		fail := func(i int, format string, args ...any) error {
			return &FormatError{file, line, columnOf(text, i), fmt.Sprintf(format, args...), false}
		}
		if at := strings.IndexAny(text, "#,;"); at >= 0 {
			return nil, &FormatError{file, line, at + 1, fmt.Sprintf("%q; a line has two numbers with a space between "+
				"them: remove comments and commas", text[at:at+1]), false}
		}
		if len(fields) == 1 {
			return nil, end.errorf(file, "the line ends; the cumulative percent is missing")
		}
		if len(fields) != 2 {
			return nil, fail(2, "%d words; a point has two: bytes, cumulative percent; remove the other columns",
				len(fields))
		}
		var v [2]float64
		var err error
		for i, what := range [2]string{"bytes such as 1000", "percent such as 12.5"} {
			f := fields[i]
			if strings.Trim(f, "0123456789.") != "" {
				return nil, fail(i, "%q is not a number of %s", f, what)
			}
			if v[i], err = strconv.ParseFloat(f, 64); err != nil {
				return nil, fail(i, "%q is not a number of %s", f, what)
			}
		}
		p := Point{v[0], v[1] / 100}
		switch {
		case p.Bytes > 1<<50:
			return nil, fail(0, "%s bytes; allowed: at most %d", fields[0], int64(1)<<50)
		case p.Share > 1:
			return nil, fail(1, "%s percent; allowed: at most 100", fields[1])
		}
		if n := len(c.Points); n > 0 {
			last := c.Points[n-1]
			if p.Bytes < last.Bytes {
				return nil, fail(0, "%s bytes are less than those of the point above; sizes must ascend", fields[0])
			}
			if p.Share < last.Share {
				return nil, fail(1, "%s percent are less than those of the point above; a distribution must not decrease",
					fields[1])
			}
		}
		c.Points = append(c.Points, p)
	}
	if err := lines.Err(); err != nil {
		return nil, lineError(file, line+1, err)
	}
	if n := len(c.Points); n == 0 || c.Points[n-1].Share != 1 {
		remedy := ""
		if n > 0 && c.Points[n-1].Share <= 0.01 {
			remedy = "; shares from 0 to 1 are percent if multiplied by 100"
		}
		return nil, end.errorf(file, "the file ends; a point at 100 percent is missing%s", remedy)
	}
	return c, nil
}

// columnOf returns the byte column, from 1, at which field i of a line begins. Fields count from 0. Without such a
// field it is the column behind the line.
func columnOf(text string, i int) int {
	at := 0
	for k := 0; ; k++ {
		at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		if k == i {
			return at + 1
		}
		if n := strings.IndexFunc(text[at:], unicode.IsSpace); n >= 0 {
			at += n
		} else {
			return at + 1
		}
	}
}

// SizeAt returns the size at share u, which is in [0, 1): at least 1 byte. The distribution must have points, as
// ReadCDF returns it.
func (c *CDF) SizeAt(u float64) unit.Bytes {
	p := c.Points
	if u <= p[0].Share {
		return max(1, unit.Bytes(p[0].Bytes))
	}
	low, high := 0, len(p)-1 // the first point whose share is not below u
	for low < high {
		mid := (low + high) / 2
		if p[mid].Share < u {
			low = mid + 1
		} else {
			high = mid
		}
	}
	a, b := p[low-1], p[low]
	return max(1, unit.Bytes(a.Bytes+(b.Bytes-a.Bytes)*(u-a.Share)/(b.Share-a.Share)))
}

// MeanSize returns the mean size in bytes: the area by trapezoids under the distribution, as in the HPCC simulator's
// traffic_gen. It is at least 1. The distribution must have points.
func (c *CDF) MeanSize() float64 {
	mean := float64(c.Points[0].Bytes * c.Points[0].Share)
	for i := 1; i < len(c.Points); i++ {
		a, b := c.Points[i-1], c.Points[i]
		mean += float64((a.Bytes + b.Bytes) / 2 * (b.Share - a.Share))
	}
	return math.Max(mean, 1)
}
