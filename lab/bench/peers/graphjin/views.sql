-- GraphJin relates tables by a single column, while every key here begins with the company's. So it gets views, which
-- Postgres inlines, a schema of its own that relates them by their ids, and operations that name the company
-- everywhere. Data of two tables is in one view, which saves GraphJin the second level of the join.
CREATE SCHEMA graphjin;
CREATE VIEW graphjin.agents AS SELECT * FROM public.agents WHERE deleted_at IS NULL;
CREATE VIEW graphjin.delegates AS SELECT company_id, id, name, channel FROM public.agents WHERE deleted_at IS NULL;
CREATE VIEW graphjin.chats AS SELECT * FROM public.knowledge_base_chats;
CREATE VIEW graphjin.sub_agents AS SELECT * FROM public.sub_agents;
CREATE VIEW graphjin.tests AS SELECT * FROM public.agent_tests WHERE deleted_at IS NULL;
CREATE VIEW graphjin.tools AS
    SELECT e.company_id, e.agent_id, e.position, t.id, t.name, t.technical_name, t.description, t.parameters
    FROM public.agent_tools AS e JOIN public.tools AS t ON t.company_id = e.company_id AND t.id = e.tool_id;
CREATE VIEW graphjin.datasets AS
    SELECT e.company_id, e.chat_id, e.position, d.id, d.name, d.chunk_method
    FROM public.knowledge_base_chat_datasets AS e JOIN public.datasets AS d ON d.company_id = e.company_id AND d.id = e.dataset_id;
