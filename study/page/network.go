package page

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"weir/core/topology"
	"weir/core/unit"
	"weir/study/experiment"
)

// drawing is a network as the page draws it: nodes in rows, hosts below, each in the middle of what it is joined to.
// Places are shares of the width and of the height.
type drawing struct {
	Nodes   []drawnNode `json:"nodes"`
	Links   []drawnLink `json:"links"`
	Rows    int         `json:"rows"`
	Widest  int         `json:"widest"` // nodes in the widest row
	Traffic []string    `json:"traffic"`
}

type drawnNode struct {
	Name   string  `json:"name"`
	Switch bool    `json:"switch"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
}

type drawnLink struct {
	A    int     `json:"a"`
	B    int     `json:"b"`
	Rate float64 `json:"rate"` // bit/s; 0: it is in packets
	Text string  `json:"text"`
}

// draw places the nodes of a point's network. The row of a switch is how far it is from the nearest host.
func draw(p *experiment.Point) *drawing {
	n := p.Network()
	d := &drawing{}
	joined := make([][]int, len(n.Nodes))
	for _, l := range n.Links {
		a, b := l.Ends[0], l.Ends[1]
		joined[a], joined[b] = append(joined[a], b), append(joined[b], a)
		x := drawnLink{A: a, B: b, Rate: float64(l.Rate.Bits), Text: rateText(l.Rate) + ", " + l.Delay.String()}
		d.Links = append(d.Links, x)
	}
	row, highest := rowsOf(n, joined)
	rows := make([][]int, highest+1)
	for i := range n.Nodes {
		rows[row[i]] = append(rows[row[i]], i)
	}
	x := make([]float64, len(n.Nodes))
	spread := func(nodes []int) {
		for k, i := range nodes {
			x[i] = (float64(k) + 0.5) / float64(len(nodes))
		}
	}
	for _, nodes := range rows {
		spread(nodes)
	}
	// Each row is ordered by the middle of the neighbours in the row that was ordered before: up and down again.
	for pass := range 6 {
		for k := range rows {
			r := k
			if pass%2 == 1 {
				r = len(rows) - 1 - k
			}
			middle := map[int]float64{}
			for _, i := range rows[r] {
				sum, count := 0.0, 0.0
				for _, j := range joined[i] {
					if row[j] != r {
						sum, count = sum+x[j], count+1
					}
				}
				if middle[i] = x[i]; count > 0 {
					middle[i] = sum / count
				}
			}
			slices.SortStableFunc(rows[r], func(a, b int) int { return cmp.Compare(middle[a], middle[b]) })
			spread(rows[r])
		}
	}
	d.Rows = len(rows)
	for _, nodes := range rows {
		d.Widest = max(d.Widest, len(nodes))
	}
	for i, node := range n.Nodes {
		y := 1 - (float64(row[i])+0.5)/float64(len(rows))
		d.Nodes = append(d.Nodes, drawnNode{node.Name, node.Switch, round(x[i]), round(y)})
	}
	for i := range p.Entries() {
		d.Traffic = append(d.Traffic, p.Entry(i).Name())
	}
	return d
}

// rowsOf is how far nodes are from the nearest host; of nodes that reach none, 1.
func rowsOf(n *topology.Network, joined [][]int) (row []int, highest int) {
	row = make([]int, len(n.Nodes))
	var next []int
	for i, node := range n.Nodes {
		if row[i] = -1; !node.Switch {
			row[i], next = 0, append(next, i)
		}
	}
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		highest = max(highest, row[i])
		for _, j := range joined[i] {
			if row[j] < 0 {
				row[j], next = row[i]+1, append(next, j)
			}
		}
	}
	for i := range row {
		if row[i] < 0 {
			row[i], highest = 1, max(highest, 1)
		}
	}
	return row, highest
}

func round(v float64) float64 { return math.Round(v*1e4) / 1e4 }

func rateText(r unit.LinkRate) string {
	if r.Bits > 0 {
		return quantity(float64(r.Bits), "bps")
	}
	return quantity(float64(r.Packets), "pps")
}

func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data)
	return err
}

func (s *Server) experimentNetwork(w http.ResponseWriter, r *http.Request) error {
	src, _, err := s.source(r)
	if err != nil {
		return err
	}
	exp, err := s.load(src, choice{})
	if err != nil {
		return err
	}
	return writeJSON(w, draw(exp.Points()[0]))
}
