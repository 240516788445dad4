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

// networkDrawing is the layout of a network: nodes in rows, hosts at the bottom, each node near the middle of its
// neighbours. Positions are shares of the width and of the height.
type networkDrawing struct {
	Nodes   []drawnNode `json:"nodes"`
	Links   []drawnLink `json:"links"`
	Rows    int         `json:"rows"`
	Widest  int         `json:"widest"` // number of nodes in the widest row
	Traffic []string    `json:"traffic"`
}

// drawnNode is a node with its position.
type drawnNode struct {
	Name   string  `json:"name"`
	Switch bool    `json:"switch"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
}

// drawnLink is a link between the nodes A and B, by index.
type drawnLink struct {
	A    int     `json:"a"`
	B    int     `json:"b"`
	Rate float64 `json:"rate"` // bit/s; 0: the rate is in packets
	Text string  `json:"text"`
}

// drawNetwork lays out the network of a point. The row of a switch is its distance in links from the nearest host.
// Nodes of a row are ordered so that they are near their neighbours in other rows.
func drawNetwork(p *experiment.Point) *networkDrawing {
	n := p.Network()
	d := &networkDrawing{}
	joined := make([][]int, len(n.Nodes))
	for _, l := range n.Links {
		a, b := l.Ends[0], l.Ends[1]
		joined[a], joined[b] = append(joined[a], b), append(joined[b], a)
		x := drawnLink{A: a, B: b, Rate: float64(l.Rate.Bits), Text: formatRate(l.Rate) + ", " + l.Delay.String()}
		d.Links = append(d.Links, x)
	}
	row, highest := assignRows(n, joined)
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
	// Each pass orders the rows by the mean position of the neighbours in other rows, alternately upwards and downwards.
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
		d.Nodes = append(d.Nodes, drawnNode{node.Name, node.Switch, roundPlace(x[i]), roundPlace(y)})
	}
	for i := range p.Entries() {
		d.Traffic = append(d.Traffic, p.Entry(i).Name())
	}
	return d
}

// assignRows returns the distance of each node from the nearest host, and the largest one. The list joined has the
// neighbours of each node. A switch without a path to a host gets 1.
func assignRows(n *topology.Network, joined [][]int) (row []int, highest int) {
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

// roundPlace rounds to four decimals.
func roundPlace(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// formatRate returns a link's rate as text, in bit/s or in packets/s.
func formatRate(r unit.LinkRate) string {
	if r.Bits > 0 {
		return formatQuantity(float64(r.Bits), "bps")
	}
	return formatQuantity(float64(r.Packets), "pps")
}

// writeJSON sends v as JSON.
func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data)
	return err
}

// serveExperimentNetwork sends the network of an experiment's first point as JSON.
func (s *Server) serveExperimentNetwork(w http.ResponseWriter, r *http.Request) error {
	src, _, err := s.findSource(r)
	if err != nil {
		return err
	}
	exp, err := s.loadExperiment(src, formInput{})
	if err != nil {
		return err
	}
	return writeJSON(w, drawNetwork(exp.Points()[0]))
}
