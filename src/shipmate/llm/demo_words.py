"""What the scripted demo says, in English and Chinese."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    label: str
    """Stands at the start of every message."""
    greeting: str
    reading: str
    planning: str
    found: str
    content: str
    writing: str
    written: str
    asking: str
    question: str
    options: tuple[str, ...]
    closing: str
    farewell: str
    follow_up: str
    todo: tuple[str, str, str]


ENGLISH = Words(
    label="**[scripted demo]** ",
    greeting=(
        "Hello! No language model is at work here: these words were written beforehand. "
        "The tools, the approval and the files are real. First I look at your project."
    ),
    reading="Reading needs no approval inside the project. I read `{file}`.",
    planning="For longer work I keep a todo list, which you see beside the conversation.",
    found="- `{file}` was read ({count} lines shown).\n",
    content=(
        "# shipmate was here\n\nThis file was proposed by the scripted demo and written only after "
        "you approved it.\n\n{found}- You may delete it.\n"
    ),
    writing=(
        "Now I propose a new file. **Nothing is written before you approve it**: "
        "the card below shows the whole change."
    ),
    written="That was your decision, and I go by it. Next I show you a question.",
    asking="When something is for you to decide, I ask.",
    question="What would you like an agent to do first in your own project?",
    options=("Explain the code", "Fix a bug", "Write tests"),
    closing="Thank you. I tick off what is left.",
    farewell=(
        "You answered: *{answer}*. That was the tour: reading, a todo list, an approval with its "
        "diff, a question. For real work choose a model above the message box: paste a key in the "
        "settings, start a local server such as Ollama, or download the offline model."
    ),
    follow_up=(
        "I cannot do anything about “{task}”: I am a script without a language model, and my tour "
        "is over. Choose a real model above the message box, and send it again."
    ),
    todo=("Propose a file and wait for approval", "Ask a question", "Say goodbye"),
)

CHINESE = Words(
    label="**[脚本演示]** ",
    greeting=(
        "你好！这里没有语言模型在工作：这些话是事先写好的。"
        "但工具、审批和文件都是真实的。我先看看你的项目。"
    ),
    reading="在项目内读取文件不需要审批。我来读 `{file}`。",
    planning="较长的任务我会列出待办清单，你可以在对话旁边看到它。",
    found="- 已读取 `{file}`（显示了 {count} 行）。\n",
    content=(
        "# shipmate 来过这里\n\n这个文件由脚本演示提出，在你批准之后才写入。\n\n"
        "{found}- 你可以删除它。\n"
    ),
    writing="现在我提议新建一个文件。**在你批准之前不会写入任何内容**：下面的卡片显示了全部改动。",
    written="这是你的决定，我照办。接下来演示一个提问。",
    asking="需要由你决定的事情，我会提问。",
    question="在你自己的项目里，你想让智能体先做什么？",
    options=("解释代码", "修复一个错误", "编写测试"),
    closing="谢谢，我勾掉剩下的事项。",
    farewell=(
        "你的回答是：*{answer}*。演示到此结束：读取文件、待办清单、带差异的审批、提问。"
        "要真正干活，请在输入框上方选择一个模型：在设置里粘贴密钥，"
        "启动 Ollama 之类的本地服务，或者下载离线模型。"
    ),
    follow_up=(
        "对于“{task}”我无能为力：我只是一个没有语言模型的脚本，演示已经结束。"
        "请在输入框上方选择一个真正的模型，然后重新发送。"
    ),
    todo=("提议一个文件并等待审批", "提一个问题", "道别"),
)
