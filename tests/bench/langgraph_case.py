"""The CPU of a plan-and-execute case in LangGraph, as a yardstick for this host: 10 model calls, nothing stored.

A plan, four steps side by side of two turns with one tool call, a conclusion; prompts of some 13 KB, answers in one
piece, no checkpoints, no tracing. What it costs is printed after a few cases that are not counted. The model is this
script again, in a process of its own.

    python3 -m venv /tmp/langgraph
    /tmp/langgraph/bin/pip install langgraph==1.2.22 langchain-anthropic==1.7.7 aiohttp==3.14.5
    /tmp/langgraph/bin/python tests/bench/langgraph_case.py

`nightshift-bench latency` runs it in turn with a case of ours, where NIGHTSHIFT_TEST_LANGGRAPH_PYTHON names such a Python.
"""

import asyncio
import operator
import subprocess
import sys
import time
from typing import Annotated, TypedDict

CASES = 100
BEFORE = 20
WITHIN_SECS = 2.0
LATENCY_SECS = 0.5
POLICIES = "You triage security alerts. Cite evidence for each sentence. " * 60
ALERT = '{"name": "one value of many", "at": "2026-10-02T03:04:05Z"},\n' * 150
RESULT = "The instance i-0a1b2c3d mines. " * 12


def serve():
    """Answers messages on a free port, which it prints; ends with its input."""
    from aiohttp import web

    async def message(request):
        body = await request.json()
        await asyncio.sleep(LATENCY_SECS)
        last = body["messages"][-1]["content"]
        has_result = isinstance(last, list) and any(part["type"] == "tool_result" for part in last)
        calls = bool(body.get("tools")) and not has_result
        call = {"type": "tool_use", "id": "toolu_1", "name": "asset_lookup", "input": {"indicator": "203.0.113.42"}}
        return web.json_response(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [call if calls else {"type": "text", "text": RESULT}],
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 4000, "output_tokens": 120},
            }
        )

    async def run():
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/messages", message)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.to_thread(sys.stdin.read)

    asyncio.run(run())


def graph(port):
    """Plan, steps side by side, conclusion."""
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, StateGraph
    from langgraph.graph.message import add_messages
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Send

    @tool
    def asset_lookup(indicator: str) -> dict:
        """Which of the organisation's assets an indicator is."""
        assets = [{"id": f"i-{number}", "owner": "payments", "environment": "prod"} for number in range(8)]
        return {"indicator": indicator, "found": len(assets), "assets": assets}

    model = ChatAnthropic(
        model="claude-sonnet-4-5",
        base_url=f"http://127.0.0.1:{port}",
        api_key="a-key-of-the-fake",
        max_tokens=2000,
        max_retries=0,
    )
    acting = model.bind_tools([asset_lookup])

    class Case(TypedDict):
        alert: str
        results: Annotated[list, operator.add]
        conclusion: str

    class Step(TypedDict):
        messages: Annotated[list, add_messages]

    def prompt(state, words):
        return [SystemMessage(POLICIES), HumanMessage(f"{state['alert']}\n{words}")]

    async def act(state):
        return {"messages": [await acting.ainvoke(state["messages"])]}

    step = StateGraph(Step)
    step.add_node("act", act)
    step.add_node("tools", ToolNode([asset_lookup]))
    step.add_edge(START, "act")
    step.add_edge("tools", "act")
    step.add_conditional_edges("act", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    step = step.compile()

    async def plan(state):
        return {"results": [(await model.ainvoke(prompt(state, "Plan."))).content]}

    async def take(state):
        taken = await step.ainvoke({"messages": prompt(state, "Take the step.")})
        return {"results": [taken["messages"][-1].content]}

    async def conclude(state):
        words = "\n".join([*state["results"], "Conclude."])
        return {"conclusion": (await model.ainvoke(prompt(state, words))).content}

    case = StateGraph(Case)
    case.add_node("plan", plan)
    case.add_node("take", take)
    case.add_node("conclude", conclude)
    case.add_edge(START, "plan")
    case.add_conditional_edges("plan", lambda state: [Send("take", state)] * 4, ["take"])
    case.add_edge("take", "conclude")
    case.add_edge("conclude", END)
    return case.compile()


async def measure(port):
    case = graph(port)

    async def one(after_secs):
        await asyncio.sleep(after_secs)
        ended = await case.ainvoke({"alert": ALERT, "results": []})
        assert len(ended["results"]) == 5 and ended["conclusion"] == RESULT

    async def many(cases):
        await asyncio.gather(*(one(number * WITHIN_SECS / CASES) for number in range(cases)))

    await many(BEFORE)
    before = time.process_time()
    await many(CASES)
    print(f"LangGraph, 10 calls, CPU  {(time.process_time() - before) * 1e3 / CASES:.1f} ms/case")


def main():
    if sys.argv[1:] == ["serve"]:
        return serve()
    fake = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        asyncio.run(measure(int(fake.stdout.readline())))
    finally:
        fake.stdin.close()
        fake.wait()


if __name__ == "__main__":
    main()
