package knowledge_test
import ("testing";"strings";"fmt";"time";"context";"os"
"github.com/agentgraph/agentgraph/engine/knowledge")
func TestZ(t *testing.T){
 n:=1<<20
 m:=map[string]string{
 "stars":strings.Repeat("*",n*5)+"a"+strings.Repeat("*",n*5),
 "emph":strings.Repeat("*a ",n)+strings.Repeat("a* ",n),
 "emph2":strings.Repeat("*a _b ",n/2)+strings.Repeat("a* b_ ",n/2),
 "brackets":strings.Repeat("[",n),
 "links":strings.Repeat("[a](",n/2),
 "nested":strings.Repeat("![",n/2)+"a"+strings.Repeat("](b)",n/2),
 "ticks":func()string{var b strings.Builder; for i:=1;i<1500;i++{b.WriteString("e"+strings.Repeat("`",i))}; return b.String()}(),
 "lt":strings.Repeat("<",n),
 "comment":strings.Repeat("<!--",n/4),
 "cdata":strings.Repeat("a<![CDATA[",n/8),
 "php":strings.Repeat("a<?",n/4),
 "indent":func()string{var b strings.Builder; for i:=0;i<1500;i++{b.WriteString(strings.Repeat("  ",i)+"* a\n")}; return b.String()}(),
 "table":strings.Repeat("|a",5000)+"\n"+strings.Repeat("|-",5000)+"\n"+strings.Repeat("|\n",20000),
 "amp":strings.Repeat("&",n),
 "quotes":strings.Repeat("> a\n",n/4),
 "refs":strings.Repeat("[a]: b\n",n/8),
 "big":strings.Repeat("A normal paragraph of *text* with words in it.\n\n",n/4),
 }
 for k,v:=range m{ if w:=os.Getenv("Z"); w!="" && w!=k {continue}
 t0:=time.Now(); _,err:=knowledge.Read(context.Background(),"a.md","",[]byte(v)); s:=fmt.Sprint(err); if len(s)>60{s=s[:60]}; fmt.Println(k,len(v),time.Since(t0).Round(time.Millisecond),s)}
}
