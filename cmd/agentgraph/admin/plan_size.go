package admin

import (
	"cmp"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// Sizes in bytes, as measured on the demo's agents; see docs/guides/scale-out.md. A constant that ends in Bytes is the
// size of one stored object with its indexes. A constant that ends in WAL is the size of the object's records in the
// write-ahead log, from its creation to its deletion.
const (
	agentBytes   = 41_000 // with a prompt, tools and eight tests
	messageBytes = 1_140
	messageWAL   = 2_700
	runBytes     = 4_900
	runWAL       = 12_600
	usageBytes   = 390
	usageWAL     = 620
	itemBytes    = 1_330
	itemWAL      = 4_000 // 1,650 to add the item, the rest for three changes to it
)

const (
	// bloat is the space of deleted and changed rows that autovacuum has not yet reused, as a factor.
	bloat = 1.3
	// busiestHour is the share of a day's work that falls into its busiest hour.
	busiestHour = 0.15
	// turnsPerCPU is how many turns of chats or tests a processor completes in a second if it also runs Postgres.
	turnsPerCPU = 100
	// maxPostgres is the size, in bytes, from which one Postgres takes hours to back up, restore or upgrade.
	maxPostgres = 1e12
	// Connections of a replica to Postgres, and connections that are kept free for commands and operators.
	replicaConnections, otherConnections = 43, 7
)

type planSize struct {
	cli.OutputFlag
	Agents int
	Chats  int
	Turns  int
	Runs   int
	Calls  int
	Items  int
	Days   int
}

func newPlanSize() *cobra.Command {
	c := &planSize{}
	return cli.New(c, &cobra.Command{
		Use: "size", Short: "Estimate the storage, connections and replicas of an installation. It needs no database.",
		Example: `agentgraph plan size --agents 500 --chats-per-day 10000 --calls-per-day 50000 --days 365`,
	}, nil, &c.OutputFlag, cli.Flags{
		{Into: &c.Agents, Name: "agents", Default: "100", Help: "How many agents there are."},
		{Into: &c.Chats, Name: "chats-per-day", Default: "1000", Help: "The number of simulated chats per day."},
		{Into: &c.Turns, Name: "turns", Default: "6", Help: "The number of messages of the contact in a chat or a test run."},
		{Into: &c.Runs, Name: "runs-per-day", Default: "1000", Help: "The number of test runs per day."},
		{Into: &c.Calls, Name: "calls-per-day", Default: "1000", Help: "The number of usage entries per day."},
		{Into: &c.Items, Name: "items-per-day", Default: "0", Help: "The number of campaign items added per day."},
		{Into: &c.Days, Name: "days", Default: "365", Help: "How long chats, runs, entries and items are kept."},
	})
}

func (c *planSize) Validate() error {
	const most = 1_000_000_000
	var err error
	for _, flag := range []struct {
		name  string
		value int
		least int
	}{
		{"agents", c.Agents, 0}, {"chats-per-day", c.Chats, 0}, {"turns", c.Turns, 1}, {"runs-per-day", c.Runs, 0},
		{"calls-per-day", c.Calls, 0}, {"items-per-day", c.Items, 0}, {"days", c.Days, 1},
	} {
		err = cmp.Or(err, cli.Refuse(flag.value < flag.least || flag.value > most, "--%s must be %d to 1,000,000,000",
			flag.name, flag.least))
	}
	return err
}

// sizeEstimate is what an installation needs.
type sizeEstimate struct {
	StorageGB   float64 `json:"storageGB"`
	GrowthGB    float64 `json:"growthGBPerDay"`
	WALGB       float64 `json:"walGBPerDay"`
	Turns       float64 `json:"turnsPerSecond"`
	CPUs        int     `json:"cpus"`
	Replicas    int     `json:"replicas"`
	Connections int     `json:"connections"`
	// OnePostgresDays is the number of days until the data outgrows one Postgres, without retention. 0 means never.
	OnePostgresDays int `json:"onePostgresDays"`
}

// estimate assumes that the agent sends a welcome message, and then as many messages as the contact.
func (c *planSize) estimate() sizeEstimate {
	messages := float64(c.Chats) * float64(2*c.Turns+1)
	daily := bloat * (messages*messageBytes + float64(c.Runs)*runBytes + float64(c.Calls)*usageBytes +
		float64(c.Items)*itemBytes)
	wal := messages*messageWAL + float64(c.Runs)*runWAL + float64(c.Calls)*usageWAL + float64(c.Items)*itemWAL
	fixed := bloat * float64(c.Agents) * agentBytes
	turns := float64(c.Chats+c.Runs) * float64(c.Turns) * busiestHour / 3600
	cpus := max(2, int(math.Ceil(turns/turnsPerCPU)))
	need := sizeEstimate{
		StorageGB: (fixed + daily*float64(c.Days)) / 1e9, GrowthGB: daily / 1e9, WALGB: wal / 1e9, Turns: turns,
		CPUs: cpus, Replicas: max(2, (cpus+3)/4),
	}
	need.Connections = need.Replicas*replicaConnections + otherConnections
	if daily > 0 {
		need.OnePostgresDays = max(1, int((maxPostgres-fixed)/daily))
	}
	return need
}

func (c *planSize) Run(cmd *cobra.Command) error {
	need := c.estimate()
	end := "never: nothing grows"
	if need.OnePostgresDays > 0 {
		end = fmt.Sprintf("1 TB after %.1f years without retention", float64(need.OnePostgresDays)/365)
	}
	return c.Print(cmd.OutOrStdout(), need, [][]string{
		{"NEED", "ESTIMATE"},
		{"Storage", fmt.Sprintf("%.1f GB after %d days, %.2f GB a day", need.StorageGB, c.Days, need.GrowthGB)},
		{"Write-ahead log", fmt.Sprintf("%.2f GB a day", need.WALGB)},
		{"Busiest hour", fmt.Sprintf("%.1f turns a second", need.Turns)},
		{"Processors", fmt.Sprintf("%d, for the replicas and Postgres together", need.CPUs)},
		{"Replicas", fmt.Sprintf("%d, with at most 4 processors each", need.Replicas)},
		{"Connections to Postgres", fmt.Sprintf("%d", need.Connections)},
		{"Limit of one Postgres", end},
	})
}
